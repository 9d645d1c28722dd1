"""Streamable HTTP: each message of a client is a request, and what the server sends is in the responses.

Theory of operation. In the revisions with a handshake, `initialize` opens a session, which the client names in all that
follows. A session has a dispatcher of its own, as a client on standard input and output has. A request is answered with
a stream of events: the messages that belong to it, then its response. What belongs to no request goes to the stream
that the client opens with GET, if it has. A session ends when the client deletes it, or when no HTTP request of it has
been in progress for a while; then everything ends that it began. A client that loses the stream of a request loses the
response, and nothing is carried out twice.

In the newest revision there are no sessions: each request has a dispatcher of its own, and is cancelled if the client
closes the connection. It is answered with JSON, or with a stream if there is a message before the response, or none for
a while.

All sessions are used in the event loop only. Other threads put messages into streams.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import stat
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from uuid import uuid4

from mcp.server.streamable_http import check_accept_headers
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundLadderRejection,
    classify_inbound_request,
    find_duplicated_routing_header,
    unsupported_protocol_version_rejection,
)
from mcp_types import HEADER_MISMATCH
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tildone.agents.mcp import json_rpc
from tildone.agents.mcp.connections import http_callers
from tildone.agents.mcp.protocol import log_error
from tildone.agents.mcp.server import Backend, MessageDispatcher
from tildone.app.settings import Settings
from tildone.base import TYPE_CHECKING, UsageError, serving, value
from tildone.base.private import make_private_folder, open_private
from tildone.plan.dialects import DEFAULT_DIALECT, Dialect, dialect_named

if TYPE_CHECKING:
    from tildone.agents.mcp.json_rpc import RequestId
    from tildone.agents.mcp.server import Transport


VARIABLE = "TILDONE_TOKEN"
FILE = "mcp-token"
MIN_TOKEN_CHARS = 16


@value
class Token:
    """A secret, and its source: a file or an environment variable."""

    secret: str
    source: str

    def matches(self, header: str) -> bool:
        """Return whether an Authorization header contains the token, compared in constant time."""
        scheme, _, given = header.partition(" ")
        same = secrets.compare_digest(given.strip().encode("utf-8", "replace"), self.secret.encode())
        return same and scheme.lower() == "bearer"


def find_token(settings: Settings, environ: Mapping[str, str], file: str | None) -> Token:
    """Return the token in the named file, else in the environment, else in the default file, which may be created."""
    if file is None and environ.get(VARIABLE):
        return Token(_checked(environ[VARIABLE], f"${VARIABLE}"), f"${VARIABLE}")
    path = os.path.abspath(os.path.expanduser(file or os.path.join(os.path.dirname(settings.agents_dir), FILE)))
    try:
        if not os.path.exists(path):
            _create(path)
        with open(path, encoding="ascii") as opened:
            secret = _checked(opened.read(), path)
        if sys.platform != "win32" and os.stat(path).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            sys.stderr.write(f"tildone mcp: other users have access to {path}; restrict it with chmod 600\n")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} holds no token: it is not ASCII text") from error
    return Token(secret, path)


def _checked(text: str, source: str) -> str:
    secret = text.strip()
    if len(secret) < MIN_TOKEN_CHARS or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise UsageError(f"{source} holds no token: that is {MIN_TOKEN_CHARS} or more ASCII characters without a space")
    return secret


def _create(path: str) -> None:
    make_private_folder(os.path.dirname(path))
    temporary = f"{path}.{secrets.token_hex(6)}"
    with os.fdopen(open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="ascii") as file:
        file.write(f"{secrets.token_urlsafe(32)}\n")
    try:
        # Unlike `os.replace`, neither function overwrites an existing file.
        (os.rename if sys.platform == "win32" else os.link)(temporary, path)
    except FileExistsError:
        pass
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


PATH = "/mcp"


class AccessMiddleware:
    """Refuses requests not meant for this server, or without its token; `admit` is told the address of those let in."""

    def __init__(
        self,
        app: ASGIApp,
        host: str,
        token: Token | None,
        admit: Callable[[tuple[str, int] | None], None] = lambda _: None,
    ) -> None:
        self._app = app
        self._token = token
        self._admit = admit
        self._names = serving.ServedNames(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope["path"], Headers(scope=scope), (scope.get("server") or ("", None))[1])
        if refusal is None:
            self._admit(scope.get("client"))
        else:
            refusal.headers["Connection"] = "close"
        try:
            await (refusal or self._app)(scope, receive, send)
        except Exception as error:
            log_error(error)
            raise

    def _refusal(self, path: str, headers: Headers, port: int | None) -> PlainTextResponse | None:
        """Return the response to a request that is refused; None if it is allowed. `port` is the one served."""
        host = self._names.host_of(headers.getlist("host"))
        if host is None:
            return PlainTextResponse("This server has another host name.", 421)
        if not self._names.is_same_origin(headers.getlist("origin"), host, port):
            return PlainTextResponse("Requests from other origins are not allowed.", 403)
        if path != PATH:
            return PlainTextResponse(f"Not found; the server is at {PATH}.", 404)
        if self._token and not self._token.matches(headers.get("authorization", "")):
            challenge = {"WWW-Authenticate": 'Bearer realm="tildone"'}
            return PlainTextResponse("A token is required: Authorization: Bearer TOKEN", 401, challenge)
        return None


MAX_SESSIONS = 10_000
PING_SECONDS = 15.0
"""After how long without a message a stream gets an empty one: proxies close connections on which nothing happens."""

SESSION_ID, VERSION = "mcp-session-id", "mcp-protocol-version"
JSON, EVENTS = "application/json", "text/event-stream"
REQUEST_CANCELLED = -32800

STREAM_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}


class _Stream:
    """The messages of one response, in order. `put` may be called from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._messages: asyncio.Queue[tuple[bytes, bool]] = asyncio.Queue()
        self.error = 0

    def put(self, line: bytes, *, is_last: bool = False) -> None:
        """Add a message; an empty one is not sent."""
        # If the loop is closed, there is nobody left to send it to.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._messages.put_nowait, (line, is_last))

    async def get(self) -> tuple[bytes, bool]:
        """Return the next message, and whether it is the last one; an empty one if there is none for a while."""
        try:
            return await asyncio.wait_for(self._messages.get(), PING_SECONDS)
        except TimeoutError:
            return b"", False

    async def events(self, line: bytes = b"", *, is_last: bool = False) -> AsyncIterator[bytes]:
        """Yield the messages as events, beginning with one that was taken already."""
        if line:
            yield _event(line)
        while not is_last:
            line, is_last = await self.get()
            if line or not is_last:
                yield _event(line)


def _event(line: bytes) -> bytes:
    return b"event: message\r\ndata: %s\r\n\r\n" % line.rstrip(b"\n") if line else b": ping\r\n\r\n"


class _Session:
    """The transport of one client: its open streams, by the ids of the requests; None is that of GET."""

    def __init__(self, make_dispatcher: Callable[[_Session], MessageDispatcher]) -> None:
        self.id = uuid4().hex
        self.streams: dict[RequestId | None, _Stream] = {}
        self.dispatcher = make_dispatcher(self)
        self.in_progress = 0
        self.expiry: asyncio.TimerHandle | None = None

    def send(self, line: bytes, about: RequestId | None = None) -> None:
        stream = self.streams.get(about)
        if stream is not None:
            stream.put(line)

    def respond(self, number: RequestId, line: bytes | None, error: int = 0) -> None:
        stream = self.streams.get(number)
        if stream is not None:
            # Nothing but a response ends the stream of a request.
            stream.error = error
            stream.put(line or json_rpc.error_line(number, REQUEST_CANCELLED, "Request cancelled"), is_last=True)

    @contextmanager
    def open_stream(self, number: RequestId | None) -> Iterator[_Stream]:
        """Receive what belongs to a request, for as long as the block runs."""
        if number in self.streams:
            # The client has used the id again, so the response to the earlier request would be ambiguous.
            self.streams[number].put(b"", is_last=True)
        stream = self.streams[number] = _Stream()
        try:
            yield stream
        finally:
            if self.streams.get(number) is stream:
                del self.streams[number]

    def end(self) -> None:
        """End everything that the client began."""
        self.dispatcher.hang_up()
        for stream in tuple(self.streams.values()):
            stream.put(b"", is_last=True)


class HttpTransport:
    """An ASGI application that passes messages on to dispatchers, and keeps the sessions of clients."""

    def __init__(self, make_dispatcher: Callable[[_Session], MessageDispatcher], idle_seconds: float) -> None:
        self._make_dispatcher = make_dispatcher
        self._idle_seconds = idle_seconds
        self._sessions: dict[str, _Session] = {}
        self._without_session: set[_Session] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        version = request.headers.get(VERSION)
        # What is entered here lasts until the response is sent.
        with ExitStack() as sending:
            if version is None or version in json_rpc.HANDSHAKE_VERSIONS:
                response: Response | None = await self._in_session(request, sending)
            else:
                response = await self._alone(request, version, sending)
            if response is not None:
                await response(scope, receive, send)

    def end_streams(self) -> None:
        """End every stream of notifications as the protocol requires."""
        for session in (*self._sessions.values(), *self._without_session):
            session.dispatcher.end_streams()
            if None in session.streams:
                session.streams[None].put(b"", is_last=True)

    async def _in_session(self, request: Request, sending: ExitStack) -> Response:
        """Answer a request in the revisions with a handshake."""
        name = request.headers.get(SESSION_ID)
        session = None if name is None else self._sessions.get(name)
        if name is not None and session is None:
            return _refusal(404, "Session not found")
        if request.method == "POST":
            return await self._post(request, session, sending)
        if request.method not in ("GET", "DELETE"):
            return _refusal(405, "Method Not Allowed", headers={"Allow": "GET, POST, DELETE"})
        if session is None:
            return _refusal(400, "Bad Request: Missing session ID")
        if request.method == "DELETE":
            self._end(session)
            return Response(headers={SESSION_ID: session.id})
        if not check_accept_headers(request)[1]:
            return _refusal(406, f"Not Acceptable: Client must accept {EVENTS}")
        if None in session.streams:
            return _refusal(409, "Conflict: Only one SSE stream is allowed per session")
        sending.enter_context(self._in_progress(session))
        return _events(sending.enter_context(session.open_stream(None)).events(), session.id)

    async def _post(self, request: Request, session: _Session | None, sending: ExitStack) -> Response:
        if not all(check_accept_headers(request)):
            return _refusal(406, f"Not Acceptable: Client must accept both {JSON} and {EVENTS}")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            return _refusal(415, f"Unsupported Media Type: Content-Type must be {JSON}")
        message = await _message(request)
        if isinstance(message, Response):
            return message
        if session is None:
            if message.method != "initialize" or message.id is None:
                return _refusal(400, "Bad Request: Missing session ID")
            if len(self._sessions) >= MAX_SESSIONS:
                return _refusal(503, "Too many open sessions", json_rpc.INTERNAL_ERROR)
            session = _Session(self._make_dispatcher)
            self._sessions[session.id] = session
        sending.enter_context(self._in_progress(session))
        if message.id is None:
            session.dispatcher.handle(message, request)
            return Response(status_code=202, headers={SESSION_ID: session.id})
        stream = sending.enter_context(session.open_stream(message.id))
        session.dispatcher.handle(message, request)
        return _events(stream.events(), session.id)

    async def _alone(self, request: Request, version: str, sending: ExitStack) -> Response | None:
        """Answer a request in the newest revision; None if the client has closed the connection."""
        if request.method != "POST":
            return Response(status_code=405, headers={"Allow": "POST"})
        if not all(check_accept_headers(request)):
            return Response(status_code=406)
        message = await _message(request)
        if isinstance(message, Response):
            return message
        if message.id is None:
            return _notified(message, version)
        rejection = _rejection(request, message)
        if rejection is not None:
            return _rejected(message.id, rejection)
        session = _Session(self._make_dispatcher)
        sending.callback(session.end)
        self._without_session.add(session)
        sending.callback(self._without_session.discard, session)
        stream = sending.enter_context(session.open_stream(message.id))
        session.dispatcher.handle(message, request)
        return await _answer(request, stream)

    @contextmanager
    def _in_progress(self, session: _Session) -> Iterator[None]:
        """Keep a session open for as long as the block runs, and for a while after it."""
        session.in_progress += 1
        if session.expiry is not None:
            session.expiry.cancel()
        try:
            yield
        finally:
            session.in_progress -= 1
            if not session.in_progress and session.id in self._sessions:
                loop = asyncio.get_running_loop()
                session.expiry = loop.call_later(self._idle_seconds, self._end, session)

    def _end(self, session: _Session) -> None:
        if self._sessions.pop(session.id, None) is not None:
            session.end()


async def _message(request: Request) -> json_rpc.RpcMessage | Response:
    """Return the message in a request; if there is none, the response that says so."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > json_rpc.MAX_MESSAGE_BYTES:
            return Response("Request body too large", 413)
    try:
        return json_rpc.decode(bytes(body))
    except json_rpc.InvalidMessage as invalid:
        return _refusal(400, str(invalid), invalid.code, number=invalid.request)


def _rejection(request: Request, message: json_rpc.RpcMessage) -> InboundLadderRejection | None:
    """Return what is wrong with the headers of a request in the newest revision, which repeat what the message says."""
    duplicated = find_duplicated_routing_header(request.headers.items())
    if duplicated is not None:
        return InboundLadderRejection(HEADER_MISMATCH, f"{duplicated} header appears more than once")
    found = classify_inbound_request(
        {"method": message.method, "params": message.params},
        headers=dict(request.headers),
        supported_modern_versions=json_rpc.MODERN_VERSIONS,
    )
    return found if isinstance(found, InboundLadderRejection) else None


def _notified(message: json_rpc.RpcMessage, version: str) -> Response:
    """Answer a notification in the newest revision, in which none means anything; a response is refused."""
    if not message.method:
        return _refusal(400, "Body must be a single JSON-RPC request or notification object")
    unsupported = unsupported_protocol_version_rejection(version, json_rpc.MODERN_VERSIONS)
    if unsupported is not None:
        return _rejected(None, unsupported)
    return Response(status_code=202)


async def _answer(request: Request, stream: _Stream) -> Response | None:
    """Return JSON if the response comes first and soon, else a stream; None if the client closed the connection."""
    first, gone = asyncio.ensure_future(stream.get()), asyncio.ensure_future(_disconnected(request))
    try:
        done, _ = await asyncio.wait({first, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        first.cancel()
        gone.cancel()
    if first not in done:
        return None
    line, is_last = first.result()
    return _json(line, stream.error) if is_last else _events(stream.events(line))


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _events(events: AsyncIterator[bytes], session: str = "") -> Response:
    headers = {**STREAM_HEADERS, SESSION_ID: session} if session else STREAM_HEADERS
    return StreamingResponse(events, headers=headers, media_type=EVENTS)


def _rejected(number: RequestId | None, why: InboundLadderRejection) -> Response:
    return _json(json_rpc.error_line(number, why.code, why.message, why.data), why.code)


def _json(line: bytes, error: int) -> Response:
    """Return a response with the status that belongs to its error code, if it is an error."""
    return Response(line, ERROR_CODE_HTTP_STATUS.get(error, 200), media_type=JSON)


def _refusal(
    status: int,
    reason: str,
    code: int = json_rpc.INVALID_REQUEST,
    *,
    number: RequestId | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    return Response(json_rpc.error_line(number, code, reason), status, headers, media_type=JSON)


SESSION_IDLE_SECONDS = 600.0
"""How long an MCP session stays without a request in progress. One whose client listens for notifications has one."""


def run(settings: Settings, host: str, port: int, *, token_file: str | None, guarded: bool) -> int:
    """Serve clients on an address until a signal arrives, and return the exit code. If `guarded`, they need a token."""
    if not guarded and not serving.is_loopback(host):
        raise UsageError(f"--no-token is for loopback addresses only; other machines can reach --host {host}")
    token = find_token(settings, os.environ, token_file) if guarded else None
    with serving.bound_socket(host, port) as listening:
        # The address is announced only after it is bound.
        notice = [f"plans are served at {serving.url(host, listening.getsockname()[1], PATH)}"]
        notice += [f"clients need the token in {token.source}"] if token else ["every user of this machine has access"]
        if not serving.is_loopback(host):
            notice.append("traffic is not encrypted: put a TLS proxy in front, unless you trust the network")
        return asyncio.run(_serve(settings, host, listening, token, notice))


async def _serve(
    settings: Settings, host: str, listening: socket.socket, token: Token | None, notice: list[str]
) -> int:
    dialect = dialect_named(settings.dialect or DEFAULT_DIALECT)
    backend = Backend(settings, dialect, http_callers(settings), log_error, all_sessions=False)
    try:
        backend.store.get()
        transport = make_transport(backend, dialect)
        web_server = make_web_server(transport, host, token)

        def stop() -> None:
            transport.end_streams()
            web_server.should_exit = True

        sys.stderr.write("".join(f"tildone mcp: {line}\n" for line in notice))
        with serving.handling_signals(stop) as signals:
            await web_server.serve(sockets=[listening])
    finally:
        backend.close()
    return serving.exit_code(signals)


def make_transport(backend: Backend, dialect: Dialect) -> HttpTransport:
    """Return an application whose clients all use one backend. Each is shown its own session only."""

    def make_dispatcher(client: Transport) -> MessageDispatcher:
        return MessageDispatcher(client, dialect, lambda _report: backend, all_sessions=False)

    return HttpTransport(make_dispatcher, SESSION_IDLE_SECONDS)


def make_web_server(transport: HttpTransport, host: str, token: Token | None) -> serving.WebServer:
    """Return a web server that checks access and passes requests on to `transport`."""
    connections = serving.OpenConnections()
    guarded = AccessMiddleware(Starlette(routes=[Route(PATH, transport)]), host, token, connections.admit)
    return serving.make_web_server(guarded, connections)
