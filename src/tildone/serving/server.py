"""A uvicorn server on a socket that is bound before anything is announced."""

from __future__ import annotations

import errno
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from tildone.errors import TildoneError, UsageError
from tildone.serving.connections import OpenConnections, timed_protocol

SHUTDOWN_TIMEOUT_SECONDS = 1
"""How long shutdown waits for requests in progress; a stream of notifications would never end by itself."""


class PortInUse(TildoneError):
    """Another process listens on that port."""


class WebServer(uvicorn.Server):
    """A uvicorn server that installs no signal handlers."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing: `handling_signals` handles signals."""
        yield


def make_web_server(app: ASGIApp, connections: OpenConnections) -> WebServer:
    """Return a server of `app`, which logs nothing and believes no header about who its client is."""
    config = uvicorn.Config(
        app,
        http=timed_protocol(connections),
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
    """Return the URL of a path on a server."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{path}"
