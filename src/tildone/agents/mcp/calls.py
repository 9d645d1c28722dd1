"""What calls need besides their results: their checks, asking the person, notices of progress, words for errors."""

from __future__ import annotations

import json
import sys
import threading

from tildone.agents.mcp.json_rpc import notification_line
from tildone.app.opening import check_runner
from tildone.app.trust import Consent
from tildone.app.who import not_the_person, not_the_persons_client
from tildone.base import TYPE_CHECKING, RunFenced, TildoneError
from tildone.plan.guard import PLAN
from tildone.plan.text.proofs import check_caution, command_quote
from tildone.plan.text.safe import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tildone.agents.mcp.json_rpc import Pending, Request, RequestId
    from tildone.app.check_runner import CheckRunner
    from tildone.app.settings import Settings
    from tildone.plan.model import Check


APPROVE = "approve"


def owner(number: int) -> str:
    """Return whose check it is."""
    return "the plan" if number == PLAN else f"task {number}"


def approval_form(number: int, check: Check) -> dict[str, Any]:
    """Return the parameters of `elicitation/create` that ask for the approval of a check.

    The command is given as a list of strings in ASCII, in which nothing can hide.
    """
    folder = f" in the folder {json.dumps(check.folder)}" if check.folder else ""
    command = json.dumps(list(check.command))
    state = f"the check of {owner(number)} is only proposed"
    return {
        "message": f"tildone: {state}. May this command be run{folder}? {command} {check_caution(check)}".rstrip(),
        "requestedSchema": {
            "type": "object",
            "properties": {
                APPROVE: {"type": "boolean", "title": "Run this command, now and later", "default": False},
            },
            "required": [APPROVE],
        },
    }


def is_approved(result: Mapping[str, Any] | None) -> bool:
    """Return whether the person accepted the form and approved the check in it."""
    content = result.get("content") if result is not None and result.get("action") == "accept" else None
    return isinstance(content, dict) and content.get(APPROVE) is True


def has_forms(capabilities: object) -> bool:
    """Return whether a client with these capabilities shows forms. One that names no mode does."""
    declared = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(declared, dict) and (not declared or "form" in declared)


class CallChecks:
    """The checks of one caller. `hand_over` is called in the thread of a call before it begins to take long."""

    def __init__(self, hand_over: Callable[[], None]) -> None:
        self._hand_over = hand_over
        self._local = threading.local()
        self._runners: dict[int, list[CheckRunner]] = {}
        self._declined: set[Check] = set()

    def begin(self, request: Request) -> None:
        """Begin a call in this thread; its request says how the person is asked, and told what runs."""
        self._local.request = request

    def runner(self, settings: Settings, by: str) -> CheckRunner:
        """Return what runs the checks of the call of this thread."""
        runner = check_runner(settings, lambda: by)
        runner.started = self._started
        runner.ask = self._ask
        why_not = not_the_person if self._request.http else not_the_persons_client
        runner.nobody = lambda: why_not(settings)
        self._runners.setdefault(threading.get_ident(), []).append(runner)
        return runner

    def end(self) -> None:
        """Forget the checks of this thread, whose call has ended."""
        self._runners.pop(threading.get_ident(), None)

    def interrupt(self, thread: int | None = None) -> None:
        """End the checks that one thread runs now, or all."""
        for ident, runners in tuple(self._runners.items()):
            for runner in runners if thread in (None, ident) else ():
                runner.interrupt()

    @property
    def _request(self) -> Request:
        found: Request = self._local.request
        return found

    def _describe(self, message: str) -> None:
        if self._request.describe is not None:
            self._request.describe(message)

    def _started(self, number: int, check: Check) -> None:
        self._hand_over()
        self._describe(f"running the check of {owner(number)}: {command_quote(check)}")

    def _ask(self, number: int, check: Check) -> Consent:
        """Ask the person whether a check may be run. What they declined is not asked again."""
        elicit = self._request.elicit
        if elicit is None or check in self._declined:
            return Consent.NO
        self._hand_over()
        self._describe(f"waiting for a person to approve the check of {owner(number)}: {command_quote(check)}")
        result = elicit(approval_form(number, check))
        if is_approved(result):
            return Consent.ALWAYS
        if result is not None:
            self._declined.add(check)
        return Consent.NO


INTERVAL_SECONDS = 1.0
WAITING = "waiting for a check, for the person, or for the store"


class ProgressNotices:
    """Tells the client, once per interval, which of its requests are still being carried out.

    Almost every call is shorter than the interval. So a single thread serves all calls, and it ends when an interval
    passes without any.
    """

    def __init__(self, send: Callable[[bytes, RequestId], None]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._reports: dict[Pending, _Report] = {}
        self._is_running = False

    def add(self, request: Pending, token: int | str) -> None:
        """Begin to report on a request, with the progress token that the client gave it."""
        with self._lock:
            self._reports[request] = _Report(token)
            if self._is_running:
                return
            self._is_running = True
        threading.Thread(target=self._run, name="mcp progress", daemon=True).start()

    def remove(self, request: Pending) -> None:
        """Report no more on a request."""
        with self._lock:
            self._reports.pop(request, None)

    def describe(self, request: Pending, message: str) -> None:
        """Say from now on what a request is waiting for."""
        with self._lock:
            if request in self._reports:
                self._reports[request].message = message

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            pause.wait(INTERVAL_SECONDS)
            with self._lock:
                if not self._reports:
                    self._is_running = False
                    return
                due = [(request.id, params) for request, report in self._reports.items() if (params := report.next())]
            for number, params in due:
                self._send(notification_line("notifications/progress", params), number)


class _Report:
    """What is reported on one request."""

    __slots__ = ("_intervals", "_token", "message")

    def __init__(self, token: int | str) -> None:
        self._token = token
        self._intervals = 0
        self.message = WAITING

    def next(self) -> dict[str, object]:
        """Return the parameters of the next notification; empty after the first interval, which may be a short one."""
        self._intervals += 1
        passed = self._intervals - 1
        return {"progressToken": self._token, "progress": passed, "message": self.message} if passed else {}


def client_message(error: Exception, *, repeated: bool = False) -> str:
    """Return the message for the client. For a bug, it names only the type: the error's text may contain anything.

    If `repeated`, the agent knows that its run is another worker's, and is refused in few words.
    """
    if isinstance(error, RunFenced):
        # Late, because only agents of a fleet are told so.
        from tildone.plan.dialects.native import FENCED, STILL_FENCED

        return STILL_FENCED if repeated else FENCED
    return str(error) if isinstance(error, TildoneError) else f"tildone itself is at fault: {type(error).__name__}"


def log_error(error: Exception) -> None:
    """Write the error to standard error, in one line."""
    message = str(error) if isinstance(error, TildoneError) else repr(error)
    sys.stderr.write(f"tildone mcp: {printable(message)}\n")
