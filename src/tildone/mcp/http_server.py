"""The server from start to end over streamable HTTP, for many clients, on a socket that is ours before any is told."""

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
from tildone.errors import TildoneError, UsageError
from tildone.mcp.access import PATH, AccessMiddleware, is_loopback
from tildone.mcp.callers import http_callers
from tildone.mcp.stdio_server import exit_code, heeding, opened
from tildone.mcp.stdio_streams import LONGEST
from tildone.mcp.token import Token, find_token

GRACE = 1
"""For so many seconds requests that are being answered hold up the end; a stream of changes would for ever."""


def run(settings: Settings, host: str, port: int, *, token_file: str | None, guarded: bool) -> int:
    """Serve every client that comes to an address, until a signal; the exit code.

    Raises:
        UsageError: the address makes no sense, or it does not without a token.
        TildoneError: somebody else listens there, or there is no getting at the store.
    """
    if not guarded and not is_loopback(host):
        raise UsageError(f"--no-token is for this machine alone; others can reach --host {host}")
    token = find_token(settings, os.environ, token_file) if guarded else None
    with bound(host, port) as taken:
        told = [f"plans are served at {url(host, taken.getsockname()[1])}"]
        told += [f"clients need the token in {token.place}"] if token else ["whoever is on this machine can use them"]
        if not is_loopback(host):
            told.append("nothing is encrypted: put a proxy in front that speaks TLS, or trust the network")
        return asyncio.run(_serve(settings, host, taken, token, told))


async def _serve(settings: Settings, host: str, taken: socket.socket, token: Token | None, told: list[str]) -> int:
    with opened(settings, http_callers(settings), to_all=False) as (server, listeners):
        serving = web(server, host, token)

        def stop() -> None:
            listeners.close()
            serving.should_exit = True

        sys.stderr.write("".join(f"tildone mcp: {line}\n" for line in told))
        with heeding(stop) as came:
            await serving.serve(sockets=[taken])
    return exit_code(came)


class Web(uvicorn.Server):
    """A web server that leaves signals to whoever runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def web(server: Server[Any], host: str, token: Token | None) -> Web:
    """The server, for those whom the guard lets in."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=LONGEST,
        # The guard knows more: it is also there where a server listens to the whole network.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    settings = uvicorn.Config(
        AccessMiddleware(app, host, token),
        log_config=None,
        log_level="critical",
        access_log=False,
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=GRACE,
    )
    return Web(settings)


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there.

    Raises:
        UsageError: there is no such place on this machine.
        TildoneError: somebody else listens there.
    """
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0]
        taken = socket.socket(family, kind, protocol)
    except OSError as error:
        raise UsageError(f"--host {host}: {error.strerror or error}") from error
    try:
        # On Windows this would let two listen at once; elsewhere it lets one follow another without a wait.
        if sys.platform != "win32":
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(place)
        taken.listen()
    except OSError as error:
        taken.close()
        raise TildoneError(f"cannot listen on {url(host, port)}: {error.strerror}; choose another --port") from error
    return taken


def url(host: str, port: int) -> str:
    """Where clients find the server."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"
