"""The server for many clients, over streamable HTTP."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings

from tildone.config import Settings
from tildone.dialects import DEFAULT_DIALECT, dialect_named
from tildone.errors import TildoneError, UsageError
from tildone.mcp.access import PATH, AccessMiddleware, is_loopback
from tildone.mcp.callers import http_callers
from tildone.mcp.http_connections import WaitingConnections, timed_protocol
from tildone.mcp.http_escaping import EscapingMiddleware
from tildone.mcp.json_rpc import MAX_MESSAGE_BYTES
from tildone.mcp.lifecycle import exit_code, handling_signals
from tildone.mcp.sdk_server import open_server
from tildone.mcp.token import Token, find_token

SHUTDOWN_TIMEOUT_SECONDS = 1
"""How long shutdown waits for requests in progress; a stream of notifications would never end by itself."""


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
        notice = [f"plans are served at {url(host, listening.getsockname()[1])}"]
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


class WebServer(uvicorn.Server):
    """A uvicorn server that installs no signal handlers."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing: `handling_signals` handles signals."""
        yield


def make_web_server(server: Server[Any], host: str, token: Token | None) -> WebServer:
    """Return a web server that checks access and passes requests on to `server`."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_MESSAGE_BYTES,
        session_idle_timeout=SESSION_IDLE_SECONDS,
        # Off, because our middleware makes the same checks, and also for addresses that other machines can reach.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    waiting = WaitingConnections()
    config = uvicorn.Config(
        AccessMiddleware(EscapingMiddleware(app), host, token, waiting.remove),
        http=timed_protocol(waiting),
        ws="none",
        log_config=None,
        log_level="critical",
        access_log=False,
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
    )
    return WebServer(config)


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket on that address.

    Raises:
        UsageError: this machine has no such address.
        TildoneError: the port is in use.
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
        raise TildoneError(f"cannot listen on {url(host, port)}: {error.strerror}; choose another --port") from error
    return listening


def url(host: str, port: int) -> str:
    """Return the URL of the server."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"
