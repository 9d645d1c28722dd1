"""The server for many clients, over streamable HTTP."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.routing import Route

from tildone.config import Settings
from tildone.dialects import DEFAULT_DIALECT, dialect_named
from tildone.dialects.base import Dialect
from tildone.errors import UsageError
from tildone.mcp.access import PATH, AccessMiddleware
from tildone.mcp.backend import Backend
from tildone.mcp.callers import http_callers
from tildone.mcp.dispatcher import MessageDispatcher
from tildone.mcp.http_transport import HttpTransport
from tildone.mcp.reporting import log_error
from tildone.mcp.token import Token, find_token
from tildone.serving import server as serving
from tildone.serving.connections import OpenConnections
from tildone.serving.lifecycle import exit_code, handling_signals
from tildone.serving.origins import is_loopback
from tildone.serving.server import WebServer, bound_socket, url

if TYPE_CHECKING:
    from tildone.mcp.dispatcher import Transport

SESSION_IDLE_SECONDS = 600.0
"""How long an MCP session stays without a request in progress. One whose client listens for notifications has one."""


def run(settings: Settings, host: str, port: int, *, token_file: str | None, guarded: bool) -> int:
    """Serve clients on an address until a signal arrives, and return the exit code. If `guarded`, they need a token.

    Raises:
        UsageError: there is no such address, or it must not be served without a token.
        TildoneError: the port is in use, or the store cannot be opened.
    """
    if not guarded and not is_loopback(host):
        raise UsageError(f"--no-token is for loopback addresses only; other machines can reach --host {host}")
    token = find_token(settings, os.environ, token_file) if guarded else None
    with bound_socket(host, port) as listening:
        # The address is announced only after it is bound.
        notice = [f"plans are served at {url(host, listening.getsockname()[1], PATH)}"]
        notice += [f"clients need the token in {token.source}"] if token else ["every user of this machine has access"]
        if not is_loopback(host):
            notice.append("traffic is not encrypted: put a TLS proxy in front, unless you trust the network")
        return asyncio.run(_serve(settings, host, listening, token, notice))


async def _serve(
    settings: Settings, host: str, listening: socket.socket, token: Token | None, notice: list[str]
) -> int:
    dialect = dialect_named(settings.dialect or DEFAULT_DIALECT)
    backend = Backend(settings, dialect, http_callers(settings), log_error, all_sessions=False)
    try:
        backend.open_store()
        transport = make_transport(backend, dialect)
        web_server = make_web_server(transport, host, token)

        def stop() -> None:
            transport.end_streams()
            web_server.should_exit = True

        sys.stderr.write("".join(f"tildone mcp: {line}\n" for line in notice))
        with handling_signals(stop) as signals:
            await web_server.serve(sockets=[listening])
    finally:
        backend.close()
    return exit_code(signals)


def make_transport(backend: Backend, dialect: Dialect) -> HttpTransport:
    """Return an application whose clients all use one backend. Each is shown its own session only."""

    def make_dispatcher(client: Transport) -> MessageDispatcher:
        return MessageDispatcher(client, dialect, lambda _report: backend, all_sessions=False)

    return HttpTransport(make_dispatcher, SESSION_IDLE_SECONDS)


def make_web_server(transport: HttpTransport, host: str, token: Token | None) -> WebServer:
    """Return a web server that checks access and passes requests on to `transport`."""
    connections = OpenConnections()
    guarded = AccessMiddleware(Starlette(routes=[Route(PATH, transport)]), host, token, connections.admit)
    return serving.make_web_server(guarded, connections)
