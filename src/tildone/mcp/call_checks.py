"""The checks that the calls of one caller run: each in the thread of its call, and ended from others."""

from __future__ import annotations

import threading

from tildone.app.opening import check_runner
from tildone.app.who import not_the_person, not_the_persons_client
from tildone.checks.approvals import Consent
from tildone.mcp.elicitation import approval_form, is_approved, owner
from tildone.typing import TYPE_CHECKING
from tildone.views.proofs import command_quote

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.checks.prover import CheckRunner
    from tildone.config import Settings
    from tildone.core.check import Check
    from tildone.mcp.request import Request


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
