"""Access control for the HTTP server: host name, origin, path and bearer token of every request.

A web page in a browser on this machine can also send requests here: by DNS rebinding (its own host name resolves to
this machine), or across origins, such as that of a development server on another port. The checks of `Host` and
`Origin` prevent both, even if the page knows the token or the server has none.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tildone.mcp.authority import SCHEME_PORTS, Authority, is_ip_address, parse_host, parse_origin
from tildone.mcp.reporting import log_error
from tildone.mcp.token import Token

PATH = "/mcp"
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
ALL_INTERFACES = frozenset({"0.0.0.0", "::", ""})  # noqa: S104  to recognise, not to bind


class AccessMiddleware:
    """ASGI middleware that refuses requests not meant for this server, or without its token if it has one.

    `admit` is called with the address of the client of each request that is let in. A refusal closes the connection.
    """

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
        self._all_interfaces = host in ALL_INTERFACES
        self._names = server_names(host)

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
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        host = parse_host(hosts[0]) if len(hosts) == 1 else None
        if host is None or not self._is_served(host.host):
            return PlainTextResponse("This server has another host name.", 421)
        if origins and not (len(origins) == 1 and self._is_same_origin(parse_origin(origins[0]), host, port)):
            return PlainTextResponse("Requests from other origins are not allowed.", 403)
        if path != PATH:
            return PlainTextResponse(f"Not found; the server is at {PATH}.", 404)
        if self._token and not self._token.matches(headers.get("authorization", "")):
            challenge = {"WWW-Authenticate": 'Bearer realm="tildone"'}
            return PlainTextResponse("A token is required: Authorization: Bearer TOKEN", 401, challenge)
        return None

    def _is_served(self, name: str) -> bool:
        return name in self._names or (self._all_interfaces and is_ip_address(name))

    def _is_same_origin(self, origin: Authority | None, host: Authority, port: int | None) -> bool:
        """Return whether a page of that origin was served where the request was sent to.

        That is here, under any name of the server, or at the address that the client used: a proxy's may differ.
        """
        if origin is None:
            return False
        if origin.host == host.host and origin.port in ((host.port,) if host.port else SCHEME_PORTS.values()):
            return True
        return self._is_served(origin.host) and origin.port == port


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
