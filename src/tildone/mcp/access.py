"""Access control for the HTTP server: host name, origin, path and bearer token of every request.

A web page in a browser on this machine can also send requests here: by DNS rebinding (its own host name resolves to
this machine), or across origins. The checks of `Host` and `Origin` prevent both, even if the page knows the token or
the server has none.
"""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tildone.mcp.reporting import log_error
from tildone.mcp.token import Token

PATH = "/mcp"
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
ALL_INTERFACES = frozenset({"0.0.0.0", "::", ""})  # noqa: S104  to recognise, not to bind


class AccessMiddleware:
    """ASGI middleware that refuses requests not meant for this server, or without its token if it has one."""

    def __init__(self, app: ASGIApp, host: str, token: Token | None) -> None:
        self._app = app
        self._token = token
        self._all_interfaces = host in ALL_INTERFACES
        self._names = server_names(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope["path"], Headers(scope=scope))
        try:
            await (refusal or self._app)(scope, receive, send)
        except Exception as error:
            log_error(error)
            raise

    def _refusal(self, path: str, headers: Headers) -> PlainTextResponse | None:
        """Return the response to a request that is refused; None if it is allowed."""
        name = host_name(headers.get("host", ""))
        if name not in self._names and not (self._all_interfaces and _is_ip_address(name)):
            return PlainTextResponse("This server has another host name.", 421)
        if "origin" in headers and _origin_host(headers["origin"]) not in {*self._names, name}:
            return PlainTextResponse("Requests from other origins are not allowed.", 403)
        if path != PATH:
            return PlainTextResponse(f"Not found; the server is at {PATH}.", 404)
        if self._token and not self._token.matches(headers.get("authorization", "")):
            challenge = {"WWW-Authenticate": 'Bearer realm="tildone"'}
            return PlainTextResponse("A token is required: Authorization: Bearer TOKEN", 401, challenge)
        return None


def is_loopback(host: str) -> bool:
    """Return whether a server on that host can be reached from this machine only."""
    return host.lower() == "localhost" or (_is_ip_address(host) and ipaddress.ip_address(host).is_loopback)


def server_names(host: str) -> frozenset[str]:
    """Return the host names by which clients may address a server that listens on `host`."""
    if is_loopback(host):
        return LOOPBACK_NAMES | {host.lower()}
    if host in ALL_INTERFACES:
        return LOOPBACK_NAMES | {socket.gethostname().lower(), socket.getfqdn().lower()}
    return frozenset({host.lower()})


def host_name(header: str) -> str:
    """Return the host in a Host header, without its port."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].lower()


def _origin_host(header: str) -> str | None:
    try:
        return urlsplit(header).hostname
    except ValueError:
        return None


def _is_ip_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
