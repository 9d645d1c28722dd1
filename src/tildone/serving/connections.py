"""Time limits of HTTP requests, where they end, and a bound on the connections that have not been let in.

Theory of operation. Whoever can reach the port can open connections, before any token is checked. A connection
therefore *waits* until a request on it is let in. Only so many may wait: one more, and the one that has
waited longest is closed. A client that sends its request at once is let in before that is its turn, however many
others hold connections open. A request whose headers or body do not arrive in time ends with its connection, whether
it was let in or not. Idle connections between requests are closed by uvicorn.

A request with both a Content-Length and a Transfer-Encoding ends at two places: a proxy in front may see one request
where there are two. It is answered with 400, and nothing after it is read. h11 does so for lengths that differ.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

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

    def remove(self, client: Address | None) -> None:
        """The connection of this client has ended."""
        self.admit(client)
        if client is not None:
            self._open.pop((client[0], client[1]), None)

    def abort(self, client: Address | None) -> None:
        """Close the connection of this client at once, whatever it has not read yet."""
        if client is not None and (client[0], client[1]) in self._open:
            self._open[client[0], client[1]].transport.abort()


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
    """Set by `timed_protocol`."""

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


def timed_protocol(connections: OpenConnections) -> type[TimedProtocol]:
    """Return the protocol of a server whose connections are in this table."""
    return type("TimedProtocol", (TimedProtocol,), {"open_connections": connections})
