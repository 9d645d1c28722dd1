"""Requests to the client, for whose responses a call waits."""

from __future__ import annotations

import threading
from itertools import count

from tildone.mcp.json_rpc import notification_line, request_line
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tildone.mcp.json_rpc import RequestId

ANSWER_SECONDS = 600.0
"""How long a person may take to answer."""


class _Waiting:
    """A request whose response has not arrived, and the thread that waits for it."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.answered = threading.Event()
        self.result: Mapping[str, Any] | None = None


class ClientRequests:
    """Sends requests, and passes each response to the thread that waits for it."""

    def __init__(self, send: Callable[[bytes, RequestId], None]) -> None:
        self._send = send
        self._numbers = count(1)
        self._waiting: dict[str, _Waiting] = {}

    def ask(self, call: RequestId, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Send a request that belongs to a call of the client's, and wait for its result.

        None means an error, no response in time, or an interruption.
        """
        name, waiting = f"tildone-{next(self._numbers)}", _Waiting()
        self._waiting[name] = waiting
        try:
            self._send(request_line(name, method, params), call)
            if not waiting.answered.wait(ANSWER_SECONDS) or waiting.result is None:
                self._send(notification_line("notifications/cancelled", {"requestId": name}), call)
            return waiting.result
        finally:
            self._waiting.pop(name, None)

    def receive(self, number: object, result: Mapping[str, Any] | None) -> None:
        """Pass on the result of a request; None if it has an error."""
        waiting = self._waiting.get(number) if isinstance(number, str) else None
        if waiting is not None:
            waiting.result = result
            waiting.answered.set()

    def interrupt(self, thread: int | None = None) -> None:
        """Wait no longer for the responses that this thread waits for, or any."""
        for waiting in tuple(self._waiting.values()):
            if thread in (None, waiting.thread):
                waiting.answered.set()
