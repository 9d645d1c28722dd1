"""Progress notifications for calls that take long: a check is run, the person is asked, or the store is locked."""

from __future__ import annotations

import threading

from tildone.mcp.json_rpc import notification_line
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.mcp.json_rpc import RequestId
    from tildone.mcp.pending import Pending

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
