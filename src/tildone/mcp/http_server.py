"""The server for many clients, over streamable HTTP."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings

from tildone.config import Settings
from tildone.dialects import DEFAULT_DIALECT, dialect_named
from tildone.errors import UsageError
from tildone.mcp.access import PATH, AccessMiddleware
from tildone.mcp.callers import http_callers
from tildone.mcp.http_escaping import EscapingMiddleware
from tildone.mcp.json_rpc import MAX_MESSAGE_BYTES
from tildone.mcp.sdk_server import open_server
from tildone.mcp.token import Token, find_token
from tildone.serving import server as serving
from tildone.serving.connections import OpenConnections
from tildone.serving.lifecycle import exit_code, handling_signals
from tildone.serving.origins import is_loopback
from tildone.serving.server import WebServer, bound_socket, url

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
    with open_server(settings, dialect, http_callers(settings)) as (server, subscriptions):
        web_server = make_web_server(server, host, token)

        def stop() -> None:
            subscriptions.close()
            web_server.should_exit = True

        sys.stderr.write("".join(f"tildone mcp: {line}\n" for line in notice))
        with handling_signals(stop) as signals:
            await web_server.serve(sockets=[listening])
    return exit_code(signals)


def make_web_server(server: Server[Any], host: str, token: Token | None) -> WebServer:
    """Return a web server that checks access and passes requests on to `server`."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_MESSAGE_BYTES,
        session_idle_timeout=SESSION_IDLE_SECONDS,
        # Off, because our middleware makes the same checks, and also for addresses that other machines can reach.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    connections = OpenConnections()
    guarded = AccessMiddleware(EscapingMiddleware(app), host, token, connections.admit)
    return serving.make_web_server(guarded, connections)
