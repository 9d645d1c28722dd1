"""The messages of one client, over any transport.

Theory of operation. The transport passes each message to `handle`. What needs no store is answered there and then, so
the client gets an answer to `ping` while a call waits for a locked store. Everything else becomes a job of its caller's
connection, whose thread carries out the jobs in the order of the requests and gives each response to the transport
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
from tildone.mcp.params import LIST_CHANGES, LOG_LEVELS
from tildone.mcp.pending import PendingRequests
from tildone.mcp.progress import ProgressNotices
from tildone.mcp.protocol import Protocol, complete
from tildone.mcp.reporting import client_message, log_error
from tildone.mcp.tools import error_reply, tool_result, wants_structured
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any
    from typing import Protocol as Interface

    from tildone.dialects.base import Dialect
    from tildone.mcp.backend import Backend
    from tildone.mcp.connections import Connection
    from tildone.mcp.json_rpc import RequestId, RpcMessage
    from tildone.mcp.pending import Pending
    from tildone.mcp.request import Request

    OpenBackend = Callable[[Callable[[Exception], None]], Backend]

    class Transport(Interface):
        """The way to the client. Its methods are called from any thread."""

        def send(self, line: bytes, about: RequestId | None = None) -> None:
            """Send a message that is no response. It belongs to the request with this id, or to none."""

        def respond(self, number: RequestId, line: bytes | None, error: int = 0) -> None:
            """Send the response to a request, with this error code if it is one; None if the request was cancelled."""


DRAIN_TIMEOUT_SECONDS = 2.0
"""How long pending requests are still answered after end of file: the client may still be reading."""

SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
ACKNOWLEDGED, UPDATED = "notifications/subscriptions/acknowledged", "notifications/resources/updated"


class MessageDispatcher:
    """Answers the messages of one client. Unless `all_sessions`, a client is shown its own session only.

    `open_backend` is called by the first request that needs the store, and `greet` with the client's name once it is
    known.
    """

    def __init__(
        self,
        transport: Transport,
        dialect: Dialect,
        open_backend: OpenBackend,
        greet: Callable[[str], None] = lambda _client: None,
        *,
        all_sessions: bool = True,
    ) -> None:
        self._transport = transport
        self._dialect = dialect
        self._open_backend = open_backend
        self._backend: Backend | None = None
        self._listings = Listings(dialect, all_sessions=all_sessions)
        self._protocol = Protocol(self._listings.instructions, greet)
        self._pending = PendingRequests()
        self._progress = ProgressNotices(transport.send)
        self._to_client = ClientRequests(transport.send)
        self._log_level: int | None = None
        self._subscribed: set[str] = set()
        self._own_connections: set[Connection] = set()
        self._is_gone = False

    def receive(self, line: bytes) -> None:
        """Handle a message that is still to be decoded."""
        try:
            message = decode(line)
        except InvalidMessage as invalid:
            self.refuse(invalid)
            return
        self.handle(message)

    def handle(self, message: RpcMessage, http: Any = None) -> None:
        """Answer a message, or begin to carry out the request in it, which came with this HTTP request."""
        if message.id is not None:
            self._begin(message, message.id, http)
        elif message.method == "notifications/cancelled":
            self._cancel(message.params.get("requestId"))
        elif not message.method:
            self._to_client.receive(message.params["id"], message.params["result"])

    def refuse(self, invalid: InvalidMessage) -> None:
        """Answer a line that is not a message."""
        self._transport.send(error_line(invalid.request, invalid.code, str(invalid)))

    def close(self) -> None:
        """Answer what is pending, up to a timeout, and close everything."""
        for pending in self._pending.drain(DRAIN_TIMEOUT_SECONDS):
            if pending.is_stream:
                self._transport.respond(pending.id, _end_of_stream(pending))
            else:
                closed = error_line(pending.id, CONNECTION_CLOSED, "Connection closed")
                self._transport.respond(pending.id, closed, CONNECTION_CLOSED)
        self.abandon()

    def abandon(self) -> None:
        """Close everything without answering what is pending."""
        self._to_client.interrupt()
        if self._backend is not None:
            self._backend.close()

    def end_streams(self) -> None:
        """Respond to the requests that get their responses only when the server ends."""
        for pending in self._pending.all():
            if pending.is_stream and self._pending.take(pending):
                self._transport.respond(pending.id, _end_of_stream(pending))

    def hang_up(self) -> None:
        """End what belongs to this client alone: it is gone, and others go on."""
        self._is_gone = True
        for pending in self._pending.all():
            self._cancel(pending.id)
        self._to_client.interrupt()
        if self._backend is None:
            return
        for uri in tuple(self._subscribed):
            self._backend.subscriptions.end((self, uri))
        for connection in self._own_connections:
            self._backend.release(connection)

    def report(self, error: Exception) -> None:
        """Report an error to the person, and to a client that asked for log messages."""
        log_error(error)
        if self._log_level is not None and self._log_level <= LOG_LEVELS.index("error"):
            params = {"level": "error", "logger": "tildone", "data": client_message(error)}
            self._transport.send(notification_line("notifications/message", params))

    def _begin(self, message: RpcMessage, number: RequestId, http: Any) -> None:
        line, error = self._line(number, partial(self._first_line, message, number, http))
        if line is not None:
            self._transport.respond(number, line, error)

    def _first_line(self, message: RpcMessage, number: RequestId, http: Any) -> bytes | None:
        """Return the response to a request that needs no store; begin to carry out any other."""
        request = replace(self._protocol.accept(message), http=http)
        result = self._immediate_result(request)
        if result is not None:
            return result_line(number, complete(request, result))
        if self._protocol.elicits:
            request = replace(request, elicit=partial(self._to_client.ask, number, "elicitation/create"))
        pending = self._pending.add(number, request)
        if pending.is_stream and not request.params["notifications"].get("resourceSubscriptions"):
            # What else a client may ask for never changes, so no store is needed.
            self._acknowledge(pending, ())
            return None
        try:
            backend = self._opened_backend()
            connection = backend.connection(request)
        except TildoneError as error:
            self.report(error)
            self._respond(pending, partial(self._unavailable, request, error))
            return None
        if connection.caller.mcp_session:
            self._own_connections.add(connection)
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

        line, error = self._line(pending.id, response)
        if line is not None and self._pending.take(pending):
            self._transport.respond(pending.id, line, error)

    def _line(self, number: RequestId, work: Callable[[], bytes | None]) -> tuple[bytes | None, int]:
        """Return the line that some work returns and 0; if it fails, an error and its code.

        Any error but a request's own is reported.
        """
        try:
            return work(), 0
        except RequestError as error:
            return error_line(number, error.code, str(error), error.data), error.code
        except Exception as error:  # noqa: BLE001  the outermost function of a request: reported to client and person
            self.report(error)
            return error_line(number, INTERNAL_ERROR, client_message(error)), INTERNAL_ERROR

    def _result(self, pending: Pending, backend: Backend, connection: Connection) -> dict[str, Any] | None:
        request = pending.request
        match request.method:
            case "resources/subscribe":
                self._subscribe(request, backend, connection)
                return {}
            case "resources/unsubscribe":
                self._subscribed.discard(request.params["uri"])
                backend.subscriptions.end((self, request.params["uri"]))
                return {}
            case "subscriptions/listen":
                self._begin_stream(pending, backend, connection)
                if not self._pending.is_open(pending):
                    backend.subscriptions.end(pending)
                return None
            case _:
                described = replace(request, describe=partial(self._progress.describe, pending))
                return backend.answer(described, connection)

    def _subscribe(self, request: Request, backend: Backend, connection: Connection) -> None:
        """Notify the client of changes at a URI until it unsubscribes. Subscribing again changes nothing.

        Raises:
            RequestError: there is no such resource, or there are too many subscriptions.
        """
        uri = request.params["uri"]
        _, snapshot = backend.read(request, connection, uri)
        if backend.subscriptions.begin((self, uri)):
            self._subscribed.add(uri)
            line = notification_line(UPDATED, {"uri": uri})
            backend.subscriptions.watch((self, uri), snapshot, partial(self._transport.send, line))
            if self._is_gone:
                backend.subscriptions.end((self, uri))

    def _begin_stream(self, pending: Pending, backend: Backend, connection: Connection) -> None:
        """Acknowledge a stream with changes of plans, and begin to send them.

        Raises:
            RequestError: the store cannot be read, or there are too many subscriptions.
        """
        uris = pending.request.params["notifications"]["resourceSubscriptions"]
        snapshots = backend.readable(pending.request, connection, uris)
        backend.subscriptions.begin(pending)
        # Before watching begins, because it must be the first message of the stream. Later changes are seen.
        self._acknowledge(pending, snapshots)
        for uri, snapshot in snapshots.items():
            line = notification_line(UPDATED, {"_meta": {SUBSCRIPTION_KEY: pending.id}, "uri": uri})
            backend.subscriptions.watch(pending, snapshot, partial(self._transport.send, line, pending.id))

    def _acknowledge(self, pending: Pending, uris: Collection[str]) -> None:
        """Say which of the wanted notifications the stream of a request will carry; of the resources, these."""
        wanted = pending.request.params["notifications"]
        honored: dict[str, Any] = {kind: True for kind in LIST_CHANGES if wanted.get(kind)}
        if uris:
            honored["resourceSubscriptions"] = list(uris)
        params = {"_meta": {SUBSCRIPTION_KEY: pending.id}, "notifications": honored}
        self._transport.send(notification_line(ACKNOWLEDGED, params), pending.id)

    def _unavailable(self, request: Request, error: TildoneError) -> dict[str, Any]:
        """Return the result of a request if there is no backend. A tool call has one, which the model reads."""
        tool = self._dialect.tool(request.params["name"]) if request.method == "tools/call" else None
        if tool is None:
            raise RequestError(INTERNAL_ERROR, client_message(error))
        reply = error_reply(self._dialect, tool.name, request.params.get("arguments") or {}, error)
        return tool_result(tool, reply, structured=wants_structured(request))

    def _cancel(self, number: object) -> None:
        pending = self._pending.cancel(number)
        if pending is None:
            return
        if pending.interrupt is not None:
            pending.interrupt()
        if pending.is_stream and self._backend is not None:
            self._backend.subscriptions.end(pending)
        self._transport.respond(pending.id, None)


def _end_of_stream(pending: Pending) -> bytes:
    """Return the response by which a server ends a stream."""
    return result_line(pending.id, complete(pending.request, {"_meta": {SUBSCRIPTION_KEY: pending.id}}))
