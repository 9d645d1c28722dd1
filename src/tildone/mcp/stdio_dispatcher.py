"""The messages of one client on standard input and output.

Theory of operation. The main thread reads a line at a time and passes it to `receive`. What needs no store is answered
there and then, so the client gets an answer to `ping` while a call waits for a locked store. Everything else becomes a
job of its caller's connection, whose thread carries out the jobs in the order of the requests and writes each response
itself: a call needs one switch of threads. A job whose request was cancelled before it began does nothing.
"""

from __future__ import annotations

from functools import partial
from threading import get_ident

from tildone.errors import TildoneError
from tildone.mcp.client_requests import ClientRequests
from tildone.mcp.json_rpc import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    InvalidMessage,
    RequestError,
    decode,
    error_line,
    notification_line,
    result_line,
)
from tildone.mcp.listings import Listings
from tildone.mcp.params import LOG_LEVELS
from tildone.mcp.pending import PendingRequests
from tildone.mcp.progress import ProgressNotices
from tildone.mcp.protocol import Protocol, complete
from tildone.mcp.reporting import client_message, log_error
from tildone.mcp.stdio_subscriptions import acknowledge, begin_stream, end_of_stream, needs_store, subscribe
from tildone.mcp.tools import error_reply, tool_result, wants_structured
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tildone.dialects.base import Dialect
    from tildone.mcp.backend import Backend
    from tildone.mcp.connections import Connection
    from tildone.mcp.json_rpc import RequestId, RpcMessage
    from tildone.mcp.pending import Pending
    from tildone.mcp.request import Request
    from tildone.mcp.stdio_output import Output

    OpenBackend = Callable[[Callable[[Exception], None]], Backend]

DRAIN_TIMEOUT_SECONDS = 2.0
"""How long pending requests are still answered after end of file: the client may still be reading."""


class StdioDispatcher:
    """Answers the messages of one client.

    `open_backend` is called by the first request that needs the store, and `greet` with the client's name once it is
    known.
    """

    def __init__(
        self,
        output: Output,
        dialect: Dialect,
        open_backend: OpenBackend,
        greet: Callable[[str], None] = lambda _client: None,
    ) -> None:
        self._output = output
        self._dialect = dialect
        self._open_backend = open_backend
        self._backend: Backend | None = None
        self._listings = Listings(dialect, all_sessions=True)
        self._protocol = Protocol(self._listings.instructions, greet)
        self._pending = PendingRequests()
        self._progress = ProgressNotices(output.send)
        self._to_client = ClientRequests(output.send)
        self._log_level: int | None = None

    def receive(self, line: bytes) -> None:
        """Answer a line, or begin to carry out the request in it."""
        try:
            message = decode(line)
        except InvalidMessage as invalid:
            self.refuse(invalid)
            return
        if message.id is not None:
            self._begin(message, message.id)
        elif message.method == "notifications/cancelled":
            self._cancel(message.params.get("requestId"))
        elif not message.method:
            self._to_client.receive(message.params["id"], message.params["result"])

    def refuse(self, invalid: InvalidMessage) -> None:
        """Answer a line that is not a message."""
        self._output.send(error_line(invalid.request, invalid.code, str(invalid)))

    def close(self) -> None:
        """Answer what is pending, up to a timeout, and close everything."""
        for pending in self._pending.drain(DRAIN_TIMEOUT_SECONDS):
            if pending.is_stream:
                self._output.send(result_line(pending.id, complete(pending.request, end_of_stream(pending))))
            else:
                self._output.send(error_line(pending.id, CONNECTION_CLOSED, "Connection closed"))
        self.abandon()

    def abandon(self) -> None:
        """Close everything without answering what is pending."""
        self._to_client.interrupt()
        if self._backend is not None:
            self._backend.close()

    def report(self, error: Exception) -> None:
        """Report an error to the person, and to a client that asked for log messages."""
        log_error(error)
        if self._log_level is not None and self._log_level <= LOG_LEVELS.index("error"):
            params = {"level": "error", "logger": "tildone", "data": client_message(error)}
            self._output.send(notification_line("notifications/message", params))

    def _begin(self, message: RpcMessage, number: RequestId) -> None:
        line = self._line(number, partial(self._first_line, message, number))
        if line is not None:
            self._output.send(line)

    def _first_line(self, message: RpcMessage, number: RequestId) -> bytes | None:
        """Return the response to a request that needs no store; begin to carry out any other."""
        request = self._protocol.accept(message)
        result = self._immediate_result(request)
        if result is not None:
            return result_line(number, complete(request, result))
        if self._protocol.elicits:
            request = replace(request, elicit=partial(self._to_client.ask, "elicitation/create"))
        pending = self._pending.add(number, request)
        if pending.is_stream and not needs_store(request):
            acknowledge(pending, (), self._output)
            return None
        try:
            backend = self._opened_backend()
            connection = backend.connection(request)
        except TildoneError as error:
            self.report(error)
            self._respond(pending, partial(self._unavailable, request, error))
            return None
        # First, because the request may have ended before this thread goes on.
        if (token := request.meta.get("progressToken")) is not None:
            self._progress.add(pending, token)
        connection.executor.submit(partial(self._carry_out, pending, backend, connection))
        return None

    def _immediate_result(self, request: Request) -> dict[str, Any] | None:
        """Return the result of a request that needs no store; None if it needs one."""
        if request.method in Listings.METHODS:
            return self._listings.answer(request)
        match request.method:
            case "ping":
                return {}
            case "initialize":
                return self._protocol.initialize(request)
            case "server/discover":
                return self._protocol.discover(request)
            case "logging/setLevel":
                self._log_level = LOG_LEVELS.index(request.params["level"])
                return {}
            case _:
                return None

    def _opened_backend(self) -> Backend:
        if self._backend is None:
            self._backend = self._open_backend(self.report)
        return self._backend

    def _carry_out(self, pending: Pending, backend: Backend, connection: Connection) -> None:
        """Carry out a request, on its connection's thread."""
        if self._pending.is_open(pending):
            pending.interrupt = partial(self._interrupt, connection, get_ident())
            self._respond(pending, partial(self._result, pending, backend, connection))
        self._progress.remove(pending)

    def _interrupt(self, connection: Connection, thread: int) -> None:
        """End what a call waits for: a check that runs, or an answer of the person."""
        self._to_client.interrupt(thread)
        connection.interrupt(thread)

    def _respond(self, pending: Pending, work: Callable[[], dict[str, Any] | None]) -> None:
        """Send the result of some work, unless the request is cancelled meanwhile or the work returns None."""

        def response() -> bytes | None:
            result = work()
            return None if result is None else result_line(pending.id, complete(pending.request, result))

        line = self._line(pending.id, response)
        if line is not None and self._pending.take(pending):
            self._output.send(line)

    def _line(self, number: RequestId, work: Callable[[], bytes | None]) -> bytes | None:
        """Return the line that some work returns; if it fails, an error. Any but a request's own error is reported."""
        try:
            return work()
        except RequestError as error:
            return error_line(number, error.code, str(error), error.data)
        except Exception as error:  # noqa: BLE001  the outermost function of a request: reported to client and person
            self.report(error)
            return error_line(number, INTERNAL_ERROR, client_message(error))

    def _result(self, pending: Pending, backend: Backend, connection: Connection) -> dict[str, Any] | None:
        request = pending.request
        match request.method:
            case "resources/subscribe":
                subscribe(request, backend, connection, self._output)
                return {}
            case "resources/unsubscribe":
                backend.subscriptions.end(request.params["uri"])
                return {}
            case "subscriptions/listen":
                begin_stream(pending, backend, connection, self._output)
                if not self._pending.is_open(pending):
                    backend.subscriptions.end(pending)
                return None
            case _:
                described = replace(request, describe=partial(self._progress.describe, pending))
                return backend.handlers.answer(described, connection)

    def _unavailable(self, request: Request, error: TildoneError) -> dict[str, Any]:
        """Return the result of a request if there is no backend. A tool call has one, which the model reads."""
        tool = self._dialect.tool(request.params["name"]) if request.method == "tools/call" else None
        if tool is None:
            raise RequestError(INTERNAL_ERROR, client_message(error))
        reply = error_reply(self._dialect, tool.name, request.params.get("arguments") or {}, error)
        return tool_result(tool, reply, structured=wants_structured(request))

    def _cancel(self, number: object) -> None:
        pending = self._pending.cancel(number)
        if pending is not None and pending.interrupt is not None:
            pending.interrupt()
        if pending is not None and pending.is_stream and self._backend is not None:
            self._backend.subscriptions.end(pending)
