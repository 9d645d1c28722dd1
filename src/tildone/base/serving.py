"""HTTP servers: the names they answer to, time limits of requests, a bound on connections, signals and sockets.

Theory of operation. Whoever can reach the port can open connections, before any token is checked. A connection
therefore *waits* until a request on it is let in. Only so many may wait: one more, and the one that has
waited longest is closed. A client that sends its request at once is let in before that is its turn, however many
others hold connections open. A request whose headers or body do not arrive in time ends with its connection, whether
it was let in or not. Idle connections between requests are closed by uvicorn.

A request with both a Content-Length and a Transfer-Encoding ends at two places: a proxy in front may see one request
where there are two. It is answered with 400, and nothing after it is read. h11 does so for lengths that differ.

A web page in a browser on this machine can also send requests here: by DNS rebinding (its own host name resolves to
this machine), or across origins, such as that of a development server on another port. The checks of `Host` and
`Origin` (`ServedNames`) prevent both, even if the page knows a token or the server has none.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import re
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from tildone.base import TildoneError, UsageError, value

MAX_PORT = 65_535
SCHEME_PORTS = {"http": 80, "https": 443}

_AUTHORITY = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9_-]+(?:\.[a-z0-9_-]+)*))(?::([0-9]{1,5}))?", re.ASCII)
_ORIGIN = re.compile(r"(https?)://([^/?#@\s\\]+)", re.ASCII)


@value
class Authority:
    """A host name or IP address without brackets, in lower case, and a port if there is one."""

    host: str
    port: int | None = None


def parse_host(header: str) -> Authority | None:
    """Return the host and port of a `Host` header; None if it is anything but a host and perhaps a port."""
    found = _AUTHORITY.fullmatch(header.lower())
    if found is None:
        return None
    port = None if found[3] is None else int(found[3])
    if (port is not None and not 0 < port <= MAX_PORT) or (found[1] is not None and not is_ip_address(found[1])):
        return None
    return Authority(found[1] or found[2], port)


def parse_origin(header: str) -> Authority | None:
    """Return the host and port of an `Origin` header, with the default port of its scheme; None if it has none."""
    found = _ORIGIN.fullmatch(header.lower())
    authority = parse_host(found[2]) if found else None
    if found is None or authority is None:
        return None
    return Authority(authority.host, authority.port or SCHEME_PORTS[found[1]])


def is_ip_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


MAX_WAITING = 100
"""How many connections may be open on which no request has been let in."""

HEADER_SECONDS = 10.0
"""How long the headers of a request may take."""

BODY_SECONDS = 30.0
"""How long the body of a request may take after its headers."""

Address = tuple[str, int]

_LENGTHS = {b"content-length", b"transfer-encoding"}


class OpenConnections:
    """The open connections by the address of the client; on some of them, no request has been let in yet."""

    def __init__(self) -> None:
        self._open: dict[Address, TimedProtocol] = {}
        # The oldest first.
        self._waiting: dict[Address, TimedProtocol] = {}

    def add(self, protocol: TimedProtocol) -> None:
        """Add a new connection. If too many wait, the oldest one is closed."""
        if protocol.client is None:
            return
        self._open[protocol.client] = self._waiting[protocol.client] = protocol
        if len(self._waiting) > MAX_WAITING:
            oldest = next(iter(self._waiting))
            self._waiting.pop(oldest).transport.abort()

    def admit(self, client: Address | None) -> None:
        """A request of this client was let in."""
        if client is not None:
            self._waiting.pop((client[0], client[1]), None)

    def remove(self, client: Address | None) -> TimedProtocol | None:
        """The connection of this client has ended; return it."""
        self.admit(client)
        return None if client is None else self._open.pop((client[0], client[1]), None)

    def abort(self, client: Address | None) -> None:
        """Close the connection of this client at once, whatever it has not read yet."""
        if (connection := self.remove(client)) is not None:
            connection.transport.abort()


class _Connection(h11.Connection):
    """Refuses requests whose end is ambiguous."""

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request) and {name for name, _ in event.headers} >= _LENGTHS:
            raise h11.RemoteProtocolError("both Content-Length and Transfer-Encoding")
        return event


class TimedProtocol(H11Protocol):
    """uvicorn's protocol with a time limit for the headers and one for the body of a request."""

    open_connections: OpenConnections
    """Set in the class of each server."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.conn = _Connection(h11.SERVER)
        self._part: object = None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn does
        super().connection_made(transport)
        self.open_connections.add(self)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # uvicorn now limits how long the connection may be idle; the limit for headers begins with their first byte.
        self._stop_watching()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        self.open_connections.remove(self.client)
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Begin the time limit of the part of a request that is expected now, unless it has begun."""
        part = self.conn.their_state
        if part is self._part:
            return
        self._stop_watching()
        seconds = {h11.IDLE: HEADER_SECONDS, h11.SEND_BODY: BODY_SECONDS}.get(part)
        if seconds is not None:
            self._part = part
            self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _stop_watching(self) -> None:
        self._part = None
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def handling_signals(stop: Callable[[], object]) -> Iterator[list[int]]:
    """Call `stop` when a signal asks the process to end; yield the list of the signals received."""
    received: list[int] = []

    def on_signal(number: int) -> None:
        received.append(number)
        stop()

    loop = asyncio.get_running_loop()
    numbers = [number for name in SIGNALS if (number := getattr(signal, name, None)) is not None]
    # On Windows, event loops have no signal handlers, and Python's own end the program.
    with suppress(NotImplementedError):
        for number in numbers:
            loop.add_signal_handler(number, on_signal, number)
    try:
        yield received
    finally:
        with suppress(NotImplementedError):
            for number in numbers:
                loop.remove_signal_handler(number)


def exit_code(signals: list[int]) -> int:
    """Return the exit code by which shells recognize a process that a signal ended; 0 if there was no signal."""
    return 128 + signals[0] if signals else 0


LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
ALL_INTERFACES = frozenset({"0.0.0.0", "::", ""})  # noqa: S104  to recognise, not to bind


class ServedNames:
    """The names of a server that listens on `host`, and of the proxies in front of it."""

    def __init__(self, host: str, public: Iterable[str] = ()) -> None:
        self._all_interfaces = host in ALL_INTERFACES
        self._names = server_names(host).union(public)

    def host_of(self, hosts: Sequence[str]) -> Authority | None:
        """Return the host of a request from its `Host` headers; None if it is not one of this server."""
        host = parse_host(hosts[0]) if len(hosts) == 1 else None
        return host if host and self._is_served(host.host) else None

    def is_same_origin(self, origins: Sequence[str], host: Authority, port: int | None) -> bool:
        """Return whether a page of that origin was served where the request was sent to, or there is no origin.

        That is here, under any name of the server, or at the address that the client used: a proxy's may differ. `port`
        is the one served.
        """
        if not origins:
            return True
        origin = parse_origin(origins[0]) if len(origins) == 1 else None
        if origin is None:
            return False
        if origin.host == host.host and origin.port in ((host.port,) if host.port else SCHEME_PORTS.values()):
            return True
        return self._is_served(origin.host) and origin.port == port

    def _is_served(self, name: str) -> bool:
        return name in self._names or (self._all_interfaces and is_ip_address(name))


def is_loopback(host: str) -> bool:
    """Return whether a server on that host can be reached from this machine only."""
    return host.lower() == "localhost" or (is_ip_address(host) and ipaddress.ip_address(host).is_loopback)


def server_names(host: str) -> frozenset[str]:
    """Return the host names by which clients may address a server that listens on `host`."""
    if is_loopback(host):
        return LOOPBACK_NAMES | {host.lower()}
    if host in ALL_INTERFACES:
        return LOOPBACK_NAMES | {socket.gethostname().lower(), socket.getfqdn().lower()}
    return frozenset({host.lower()})


SHUTDOWN_TIMEOUT_SECONDS = 1
"""How long shutdown waits for requests in progress; a stream of notifications would never end by itself."""


class PortInUse(TildoneError):
    """Another process listens on that port."""


class WebServer(uvicorn.Server):
    """A uvicorn server that installs no signal handlers: `handling_signals` does."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def make_web_server(app: ASGIApp, connections: OpenConnections) -> WebServer:
    """Return a server of `app`, which logs nothing and believes no header about who its client is."""
    config = uvicorn.Config(
        app,
        http=type("TimedProtocol", (TimedProtocol,), {"open_connections": connections}),
        ws="none",
        log_config=None,
        log_level="critical",
        access_log=False,
        lifespan="on",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
    )
    return WebServer(config)


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket on that address.

    Raises:
        UsageError: this machine has no such address.
        PortInUse: the port is in use.
        TildoneError: it cannot be used for another reason.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise UsageError(f"--host {host}: {error.strerror or error}") from error
    try:
        # Elsewhere this allows an immediate restart; on Windows it would let two processes listen on one port.
        if sys.platform != "win32":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except OSError as error:
        listening.close()
        kind_of_error = PortInUse if error.errno == errno.EADDRINUSE else TildoneError
        raise kind_of_error(f"cannot listen on {url(host, port)}: {error.strerror}; choose another --port") from error
    return listening


def url(host: str, port: int, path: str = "") -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{path}"
