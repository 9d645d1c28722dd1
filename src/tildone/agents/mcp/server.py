"""The messages of one client, over any transport (`MessageDispatcher`), and the server on standard input and output.

Theory of operation. The transport passes each message to `handle`. What needs no store is answered there and then, so
the client gets an answer to `ping` while a call waits for a locked store. Everything else becomes a job of its caller's
connection, whose thread carries out the jobs in the order of the requests and gives each response to the transport
itself: a call needs one switch of threads. A job whose request was cancelled before it began does nothing.

An agent waits for the first answers of its servers before it sends its first request to a model, or sends it without
their tools. So the store is opened by the first request that needs it, and resources are imported by the first that
reads one.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import OrderedDict
from contextlib import suppress
from functools import partial
from threading import get_ident
from time import monotonic

from tildone.agents.integrations import PROBE_CLIENT
from tildone.agents.mcp import protocol
from tildone.agents.mcp.connections import CallingAgent, Connection, ProgressNotices, SharedStore, stdio_callers
from tildone.agents.mcp.json_rpc import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    ClientRequests,
    InvalidMessage,
    Output,
    PendingRequests,
    RequestError,
    claim_standard_streams,
    decode,
    error_line,
    notification_line,
    result_line,
)
from tildone.app.opening import open_agents
from tildone.base import TYPE_CHECKING, TildoneError, replace
from tildone.plan.dialects import DEFAULT_DIALECT, Dialect, dialect_named
from tildone.plan.events import State, latest_state
from tildone.stores.agents import agent_process
from tildone.stores.assignment import ProvidedTools

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from types import FrameType
    from typing import Any, BinaryIO, NoReturn
    from typing import Protocol as Interface

    from tildone.agents.mcp.connections import Caller, CallerResolver
    from tildone.agents.mcp.json_rpc import Pending, Request, RequestId, RpcMessage
    from tildone.agents.mcp.resources import PlanUri, SessionSnapshot
    from tildone.app.settings import Settings
    from tildone.log.store import Store

    Callback = Callable[[], None]

    OpenBackend = Callable[[Callable[[Exception], None]], "Backend"]

    class Transport(Interface):
        """The way to the client. Its methods are called from any thread."""

        def send(self, line: bytes, about: RequestId | None = None) -> None:
            """Send a message that is no response. It belongs to the request with this id, or to none."""

        def respond(self, number: RequestId, line: bytes | None, error: int = 0) -> None:
            """Send the response to a request, with this error code if it is one; None if the request was cancelled."""


POLL_SECONDS = 0.5
"""How long a thread waits for a change at a time, and therefore how long it takes to end."""


class PlanWatcher:
    """Reports changes of plans by any process, on one thread for each session, which a callback that blocks delays."""

    def __init__(self, get_store: Callable[[], Store]) -> None:
        self._get_store = get_store
        self._lock = threading.Lock()
        self._watches: dict[str, _SessionWatch] = {}
        self._ending: list[_SessionWatch] = []

    def watch(self, snapshot: SessionSnapshot, callback: Callback) -> Callable[[], None]:
        """Call `callback` at every change after the snapshot, until the returned function is called."""
        token = object()
        with self._lock:
            watch = self._watches.get(snapshot.session)
            if watch is None:
                watch = self._watches[snapshot.session] = _SessionWatch(self._get_store, snapshot)
            missed = watch.add(token, callback, snapshot)
        if missed:
            callback()

        def end() -> None:
            with self._lock:
                if watch.remove(token) and self._watches.get(snapshot.session) is watch:
                    del self._watches[snapshot.session]
                    self._end(watch)

        return end

    def close(self) -> None:
        """End all watches and wait for their threads."""
        with self._lock:
            for watch in self._watches.values():
                self._end(watch)
            self._watches.clear()
            ending = list(self._ending)
        for watch in ending:
            watch.thread.join(2 * POLL_SECONDS)

    def _end(self, watch: _SessionWatch) -> None:
        watch.ended.set()
        self._ending = [watch, *(other for other in self._ending if other.thread.is_alive())]


class _SessionWatch:
    """One watched session: its callbacks, and the thread that waits for changes."""

    def __init__(self, get_store: Callable[[], Store], snapshot: SessionSnapshot) -> None:
        self.ended = threading.Event()
        self._get_store = get_store
        self._session = snapshot.session
        self._lock = threading.Lock()
        self._state = snapshot.state
        self._callbacks: dict[object, Callback] = {}
        self.thread = threading.Thread(target=self._run, args=(snapshot.state,), name="mcp watch", daemon=True)
        self.thread.start()

    def add(self, token: object, callback: Callback, snapshot: SessionSnapshot) -> bool:
        """Add a callback; return whether it missed a change, which others were notified of after the snapshot."""
        with self._lock:
            self._callbacks[token] = callback
            return self._state.plan != snapshot.state.plan

    def remove(self, token: object) -> bool:
        with self._lock:
            self._callbacks.pop(token, None)
            return not self._callbacks

    def _run(self, state: State) -> None:
        while not self.ended.is_set():
            try:
                store = self._get_store()
                if not store.wait(self._session, state.head, POLL_SECONDS):
                    continue
                before, state = state, latest_state(store.history(self._session))
            except TildoneError:
                # Tool calls report errors of the store; the watch only waits until it works again.
                self.ended.wait(POLL_SECONDS)
                continue
            # Some events, such as a nudge, move the head without changing the plan.
            if state.plan != before.plan:
                with self._lock:
                    self._state = state
                    callbacks = tuple(self._callbacks.items())
                for token, callback in callbacks:
                    # It may have been removed while an earlier one was called.
                    if token in self._callbacks and not self.ended.is_set():
                        callback()


MAX_SUBSCRIPTIONS = 200


class Subscriptions:
    """The open subscriptions, by a key: that of a connection and a URI, or of a stream of notifications."""

    def __init__(self, get_store: Callable[[], Store]) -> None:
        self._watcher = PlanWatcher(get_store)
        self._lock = threading.Lock()
        self._open: dict[object, list[Callable[[], None]]] = {}

    def begin(self, key: object) -> bool:
        """Begin a subscription; return False if it is already open."""
        with self._lock:
            if key in self._open:
                return False
            if len(self._open) >= MAX_SUBSCRIPTIONS:
                reason = f"{MAX_SUBSCRIPTIONS} subscriptions are open; there can be no more"
                raise RequestError(INTERNAL_ERROR, reason)
            self._open[key] = []
            return True

    def watch(self, key: object, snapshot: SessionSnapshot, notify: Callable[[], None]) -> None:
        """Call `notify`, on another thread, at every change after the snapshot until the subscription ends."""
        end = self._watcher.watch(snapshot, notify)
        with self._lock:
            ends = self._open.get(key)
            if ends is not None:
                ends.append(end)
                return
        # It has ended meanwhile.
        end()

    def end(self, key: object) -> None:
        with self._lock:
            ends = self._open.pop(key, None)
        for end in ends or ():
            end()

    def close(self) -> None:
        for key in tuple(self._open):
            self.end(key)
        self._watcher.close()


MAX_CONNECTIONS = 200
CLOSE_TIMEOUT_SECONDS = 1.0

RESOURCE_NOT_FOUND = -32002
"""The error code in all protocol versions but the newest, which uses INVALID_PARAMS."""

MAX_COMPLETIONS = 100


class Backend:
    """The newest connections of callers on one store. Unless `all_sessions`, each reads its own session only."""

    def __init__(
        self,
        settings: Settings,
        dialect: Dialect,
        resolve_caller: CallerResolver,
        report: Callable[[Exception], None],
        *,
        all_sessions: bool,
    ) -> None:
        self._settings = settings
        self._dialect = dialect
        self._resolve_caller = resolve_caller
        self._report = report
        self._all_sessions = all_sessions
        self.store = SharedStore(settings)
        self._agents = open_agents(settings)
        self._connections: OrderedDict[Caller, Connection] = OrderedDict()
        self._last: tuple[Caller, Connection] | None = None
        self.subscriptions = Subscriptions(self.store.get)

    def connection(self, request: Request) -> Connection:
        """Return the connection of the agent that sent a request, opened if there is none."""
        caller = self._resolve_caller(request)
        # Most servers have one caller, and comparing callers is faster than hashing them.
        if self._last is not None and caller == self._last[0]:
            return self._last[1]
        connection = self._connections.get(caller)
        if connection is None:
            agent = CallingAgent(caller, self._agents, self._report)
            connection = Connection(caller, self._settings, self._dialect, self.store, agent, self._report)
            self._connections[caller] = connection
            if len(self._connections) > MAX_CONNECTIONS:
                _, idle = self._connections.popitem(last=False)
                idle.close()
        self._connections.move_to_end(caller)
        self._last = caller, connection
        return connection

    def release(self, connection: Connection) -> None:
        """Close the connection of a caller that does not come back."""
        if self._connections.get(connection.caller) is not connection:
            return
        del self._connections[connection.caller]
        if self._last is not None and self._last[1] is connection:
            self._last = None
        connection.close()
        connection.interrupt()

    def close(self) -> None:
        """End all subscriptions and connections, and close the store unless a call still runs after the timeout."""
        self.subscriptions.close()
        deadline = monotonic() + CLOSE_TIMEOUT_SECONDS
        for connection in self._connections.values():
            connection.close()
            connection.interrupt()
        if all(connection.executor.join(deadline - monotonic()) for connection in self._connections.values()):
            self.store.close()

    def answer(self, request: Request, connection: Connection) -> dict[str, Any]:
        """Return the result of a request that needs the store. It blocks, and is a job of the connection's executor."""
        match request.method:
            case "tools/call":
                name, dialect = request.params["name"], self._dialect
                tool = dialect.tool(name)
                if tool is None:
                    known = ", ".join(tool.name for tool in dialect.tools)
                    raise RequestError(INVALID_PARAMS, f"Unknown tool {name!r:.100}; known are {known}")
                reply = connection.call(name, request.params.get("arguments") or {}, request)
                return protocol.tool_result(tool, reply, structured=protocol.wants_structured(request.client))
            case "resources/read":
                from tildone.agents.mcp.resources import contents

                uri, snapshot = self.read(request, connection, request.params["uri"])
                return {"contents": [contents(uri, snapshot)]}
            case _:
                return self._complete(request, connection)

    def read(self, request: Request, connection: Connection, uri: str) -> tuple[PlanUri, SessionSnapshot]:
        """Return a URI, parsed, and the state of the session that it names, if this caller may read it."""
        # Late, because few clients read resources, and every one calls tools.
        from tildone.agents.mcp.resources import parse_uri

        parsed = parse_uri(uri)
        if parsed is None:
            raise ResourceNotFound(request, uri)
        snapshot = connection.snapshot(events=protocol.MAX_LOG_EVENTS if parsed.log else 0)
        if parsed.session is not None and parsed.session != snapshot.session:
            if not self._all_sessions:
                raise ResourceNotFound(request, uri)
            snapshot = connection.snapshot(parsed.session)
            if snapshot.state.head is None:
                raise ResourceNotFound(request, uri)
        return parsed, snapshot

    def readable(self, request: Request, connection: Connection, uris: Sequence[str]) -> dict[str, SessionSnapshot]:
        """Return the state of the session that each URI names; those that the caller cannot read are omitted."""
        snapshots: dict[str, SessionSnapshot] = {}
        for uri in uris:
            with suppress(ResourceNotFound):
                _, snapshots[uri] = self.read(request, connection, uri)
        return snapshots

    def _complete(self, request: Request, connection: Connection) -> dict[str, Any]:
        names: list[str] = []
        if self._all_sessions and request.params["ref"]["type"] == "ref/resource":
            prefix = request.params["argument"]["value"]
            names = [name for name in connection.session_names() if name.startswith(prefix)]
        first = names[:MAX_COMPLETIONS]
        return {"completion": {"values": first, "total": len(names), "hasMore": len(first) < len(names)}}


class ResourceNotFound(RequestError):
    """No resource has this URI, or none that this caller may read."""

    def __init__(self, request: Request, uri: str) -> None:
        code = INVALID_PARAMS if request.is_modern else RESOURCE_NOT_FOUND
        super().__init__(code, f"Resource not found: {uri:.200}", {"uri": uri})


DRAIN_TIMEOUT_SECONDS = 2.0
"""How long pending requests are still answered after end of file: the client may still be reading."""

SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
ACKNOWLEDGED, UPDATED = "notifications/subscriptions/acknowledged", "notifications/resources/updated"


class MessageDispatcher:
    """Answers the messages of one client, greeted by its name. Unless `all_sessions`, it sees only its own."""

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
        self._all_sessions = all_sessions
        self._protocol = protocol.Protocol(protocol.instructions(dialect), greet)
        self._pending = PendingRequests()
        self._progress = ProgressNotices(transport.send)
        self._to_client = ClientRequests(transport.send)
        self._log_level: int | None = None
        self._subscribed: set[str] = set()
        self._own_connections: set[Connection] = set()
        self._is_gone = False

    def receive(self, line: bytes) -> None:
        try:
            self.handle(decode(line))
        except InvalidMessage as invalid:
            self.refuse(invalid)

    def handle(self, message: RpcMessage, http: Any = None) -> None:
        """Answer a message, or begin to carry out the request in it, which came with this HTTP request."""
        if message.id is not None:
            self._begin(message, message.id, http)
        elif message.method == "notifications/cancelled":
            self._cancel(message.params.get("requestId"))
        elif not message.method:
            self._to_client.receive(message.params["id"], message.params["result"])

    def refuse(self, invalid: InvalidMessage) -> None:
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
        protocol.log_error(error)
        if self._log_level is not None and self._log_level <= protocol.LOG_LEVELS.index("error"):
            params = {"level": "error", "logger": "tildone", "data": protocol.client_message(error)}
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
            return result_line(number, protocol.complete(request, result))
        if self._protocol.elicits:
            request = replace(request, elicit=partial(self._to_client.ask, number, "elicitation/create"))
        pending = self._pending.add(number, request)
        if pending.is_stream and not request.params["notifications"].get("resourceSubscriptions"):
            # What else a client may ask for never changes, so no store is needed.
            self._acknowledge(pending, ())
            return None
        try:
            backend = self._backend = self._backend or self._open_backend(self.report)
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
        if request.method in protocol.LISTINGS:
            return protocol.listing(request, self._dialect, all_sessions=self._all_sessions)
        match request.method:
            case "ping":
                return {}
            case "initialize":
                return self._protocol.initialize(request)
            case "server/discover":
                return self._protocol.discover(request)
            case "logging/setLevel":
                self._log_level = protocol.LOG_LEVELS.index(request.params["level"])
                return {}
            case _:
                return None

    def _carry_out(self, pending: Pending, backend: Backend, connection: Connection) -> None:
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
            return None if result is None else result_line(pending.id, protocol.complete(pending.request, result))

        line, error = self._line(pending.id, response)
        if line is not None and self._pending.take(pending):
            self._transport.respond(pending.id, line, error)

    def _line(self, number: RequestId, work: Callable[[], bytes | None]) -> tuple[bytes | None, int]:
        """Return the line that some work returns and 0, or an error and its code. Reports any but a request's own."""
        try:
            return work(), 0
        except RequestError as error:
            return error_line(number, error.code, str(error), error.data), error.code
        except Exception as error:  # noqa: BLE001  the outermost function of a request: reported to client and person
            self.report(error)
            return error_line(number, INTERNAL_ERROR, protocol.client_message(error)), INTERNAL_ERROR

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
                uris = pending.request.params["notifications"]["resourceSubscriptions"]
                snapshots = backend.readable(pending.request, connection, uris)
                backend.subscriptions.begin(pending)
                # Before watching begins, because it must be the first message of the stream. Later changes are seen.
                self._acknowledge(pending, snapshots)
                for uri, snapshot in snapshots.items():
                    line = notification_line(UPDATED, {"_meta": {SUBSCRIPTION_KEY: pending.id}, "uri": uri})
                    backend.subscriptions.watch(pending, snapshot, partial(self._transport.send, line, pending.id))
                if not self._pending.is_open(pending):
                    backend.subscriptions.end(pending)
                return None
            case _:
                described = replace(request, describe=partial(self._progress.describe, pending))
                return backend.answer(described, connection)

    def _subscribe(self, request: Request, backend: Backend, connection: Connection) -> None:
        """Notify the client of changes at a URI until it unsubscribes. Subscribing again changes nothing."""
        uri = request.params["uri"]
        _, snapshot = backend.read(request, connection, uri)
        if backend.subscriptions.begin((self, uri)):
            self._subscribed.add(uri)
            line = notification_line(UPDATED, {"uri": uri})
            backend.subscriptions.watch((self, uri), snapshot, partial(self._transport.send, line))
            if self._is_gone:
                backend.subscriptions.end((self, uri))

    def _acknowledge(self, pending: Pending, uris: Collection[str]) -> None:
        """Say which of the wanted notifications the stream of a request will carry; of the resources, these."""
        wanted = pending.request.params["notifications"]
        honored: dict[str, Any] = {kind: True for kind in protocol.LIST_CHANGES if wanted.get(kind)}
        if uris:
            honored["resourceSubscriptions"] = list(uris)
        params = {"_meta": {SUBSCRIPTION_KEY: pending.id}, "notifications": honored}
        self._transport.send(notification_line(ACKNOWLEDGED, params), pending.id)

    def _unavailable(self, request: Request, error: TildoneError) -> dict[str, Any]:
        """Return the result of a request if there is no backend. A tool call has one, which the model reads."""
        tool = self._dialect.tool(request.params["name"]) if request.method == "tools/call" else None
        if tool is None:
            raise RequestError(INTERNAL_ERROR, protocol.client_message(error))
        reply = protocol.error_reply(self._dialect, tool.name, request.params.get("arguments") or {}, error)
        return protocol.tool_result(tool, reply, structured=protocol.wants_structured(request.client))

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
    return result_line(pending.id, protocol.complete(pending.request, {"_meta": {SUBSCRIPTION_KEY: pending.id}}))


AT_A_TERMINAL = "waiting for MCP messages on standard input, as an agent sends them; Ctrl-C ends it"
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")

MAX_LINE_BYTES = 1 << 24
"""How much of a line is read in order to answer it. The rest of a longer one is skipped."""


def run(load_settings: Callable[[], Settings], dialect: str | None) -> int:
    """Serve the client until it closes standard input or a signal arrives. Bad settings are reported by every call."""
    if sys.stdin and sys.stdin.isatty():
        sys.stderr.write(f"tildone mcp: {AT_A_TERMINAL}\n")
    # Determined before the standard streams are claimed, because they help to find it.
    agent = agent_process(protocol.HOST_PROGRAMS)
    try:
        settings = load_settings()
    except TildoneError as error:
        protocol.log_error(error)
        return _run(load_settings, dialect, agent, lambda _client: None)
    # Hooks do not look for known coding agents behind a relay.
    provided = ProvidedTools(settings.agents_dir, *{agent, agent_process()})

    def greet(client: str) -> None:
        # A probe does not provide an agent with tools, and changes nothing.
        if client != PROBE_CLIENT:
            provided.announce()

    try:
        return _run(load_settings, dialect or settings.dialect, agent, greet)
    finally:
        provided.withdraw()


def _run(
    load_settings: Callable[[], Settings], dialect_name: str | None, agent: int, greet: Callable[[str], None]
) -> int:
    dialect = dialect_named(dialect_name or DEFAULT_DIALECT)
    source, out = claim_standard_streams()
    output = Output(out, _interrupt_reading)

    def open_backend(report: Callable[[Exception], None]) -> Backend:
        settings = load_settings()
        return Backend(settings, dialect, stdio_callers(settings, os.environ, agent), report, all_sessions=True)

    dispatcher = MessageDispatcher(output, dialect, open_backend, greet)
    try:
        _handle_signals(_stop)
        serve(source, output, dispatcher)
    except _Stopped as stopped:
        _handle_signals(signal.SIG_DFL)
        dispatcher.abandon()
        return 0 if output.is_broken else 128 + stopped.signal
    return 0


def serve(source: BinaryIO, output: Output, dispatcher: MessageDispatcher) -> None:
    """Answer lines until end of file, or until the client no longer reads answers."""
    with suppress(OSError):
        while not output.is_broken and (line := source.readline(MAX_LINE_BYTES)):
            if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
                while (part := source.readline(MAX_LINE_BYTES)) and not part.endswith(b"\n"):
                    pass
                dispatcher.refuse(InvalidMessage(INVALID_REQUEST, f"a line has at most {MAX_LINE_BYTES} bytes"))
            elif not line.isspace():
                dispatcher.receive(line)
    dispatcher.close()


class _Stopped(BaseException):
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    raise _Stopped(number)


def _handle_signals(handler: Callable[[int, FrameType | None], object] | signal.Handlers) -> None:
    for name in SIGNALS:
        # Windows lacks some of them.
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), handler)


def _interrupt_reading() -> None:
    """End the process although the main thread may be waiting for a line: the client reads no answers any more."""
    if threading.current_thread() is not threading.main_thread():
        os.kill(os.getpid(), signal.SIGTERM)
