"""Progress notifications for calls that take long: a check is run, the person is asked, or the store is locked."""

from __future__ import annotations

import threading

from tildone.mcp.json_rpc import notification_line
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

INTERVAL_SECONDS = 1.0
WAITING = "waiting for a check, for the person, or for the store"


class ProgressNotices:
    """Tells the client, once per interval, which of its requests are still being carried out.

    Almost every call is shorter than the interval. So a single thread serves all calls, and it ends when an interval
    passes without any.
    """

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._intervals: dict[object, tuple[int | str, int]] = {}
        self._is_running = False

    def add(self, request: object, token: int | str) -> None:
        """Begin to report on a request, with the progress token that the client gave it."""
        with self._lock:
            self._intervals[request] = token, 0
            if self._is_running:
                return
            self._is_running = True
        threading.Thread(target=self._run, name="mcp progress", daemon=True).start()

    def remove(self, request: object) -> None:
        """Report no more on a request."""
        with self._lock:
            self._intervals.pop(request, None)

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            pause.wait(INTERVAL_SECONDS)
            with self._lock:
                if not self._intervals:
                    self._is_running = False
                    return
                for request, (token, passed) in tuple(self._intervals.items()):
                    self._intervals[request] = token, passed + 1
                due = [entry for entry in self._intervals.values() if entry[1] > 1]
            for token, passed in due:
                # The first interval may have been a short one, so it is not counted.
                params = {"progressToken": token, "progress": passed - 1, "message": WAITING}
                self._send(notification_line("notifications/progress", params))
