"""The requests that have no response yet.

Whoever takes a request, under the lock, is the one to respond to it: the thread that carried it out, or the main
thread after the client has closed its end. A cancellation takes the request too, and nobody responds.
"""

from __future__ import annotations

import threading
from time import monotonic

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.mcp.json_rpc import RequestId
    from tildone.mcp.request import Request


class Pending:
    """A request that has no response yet. One that `is_stream` gets its response only when the stream ends.

    `interrupt` ends what it waits for, once it is being carried out.
    """

    def __init__(self, number: RequestId, request: Request) -> None:
        self.id = number
        self.request = request
        self.is_stream = request.method == "subscriptions/listen"
        self.interrupt: Callable[[], None] | None = None


class PendingRequests:
    """All requests of a client that have no response yet, by id."""

    def __init__(self) -> None:
        self._taken = threading.Condition()
        self._requests: dict[RequestId, Pending] = {}

    def add(self, number: RequestId, request: Request) -> Pending:
        """Add a request."""
        pending = Pending(number, request)
        with self._taken:
            self._requests[number] = pending
        return pending

    def is_open(self, pending: Pending) -> bool:
        """Return whether nobody has taken the request."""
        return self._requests.get(pending.id) is pending

    def take(self, pending: Pending) -> bool:
        """Take a request in order to respond to it; return False if it was taken before."""
        with self._taken:
            if self._requests.get(pending.id) is not pending:
                return False
            del self._requests[pending.id]
            self._taken.notify()
            return True

    def cancel(self, number: object) -> Pending | None:
        """Take the request with an id; return None if there is none."""
        if not isinstance(number, int | str):
            return None
        with self._taken:
            pending = self._requests.pop(number, None)
            self._taken.notify()
            return pending

    def all(self) -> list[Pending]:
        """Return the requests that nobody has taken."""
        with self._taken:
            return list(self._requests.values())

    def drain(self, timeout: float) -> list[Pending]:
        """Wait until all but streams are taken, up to the timeout. Take the rest and return it."""
        deadline = monotonic() + timeout
        with self._taken:
            while not all(pending.is_stream for pending in self._requests.values()):
                remaining = deadline - monotonic()
                if remaining <= 0:
                    break
                self._taken.wait(remaining)
            rest = list(self._requests.values())
            self._requests.clear()
        return rest
