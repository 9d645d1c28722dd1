"""Who gets in over HTTP: requests that were meant for this server, from where they may come, with the token."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tildone.mcp.connections import log_error
from tildone.mcp.token import Token

PATH = "/mcp"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
EVERYWHERE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104  to recognise, not to bind


class AccessMiddleware:
    """Stands before an application. Without a token, whoever reaches it is let in."""

    def __init__(self, app: ASGIApp, host: str, token: Token | None) -> None:
        self._app = app
        self._token = token
        self._everywhere = host in EVERYWHERE
        self._names = names_of(host)

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
        """Why a request does not get in. A page in a browser is stopped by the first two, whatever it knows."""
        name = host_name(headers.get("host", ""))
        if name not in self._names and not (self._everywhere and _is_address(name)):
            return PlainTextResponse("This server does not go by that name.", 421)
        if "origin" in headers and _origin(headers["origin"]) not in {*self._names, name}:
            return PlainTextResponse("Requests from other sites are not answered.", 403)
        if path != PATH:
            return PlainTextResponse(f"There is nothing here; the server is at {PATH}.", 404)
        if self._token and not self._token.fits(headers.get("authorization", "")):
            challenge = {"WWW-Authenticate": 'Bearer realm="tildone"'}
            return PlainTextResponse("A token is needed: Authorization: Bearer TOKEN", 401, challenge)
        return None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server there."""
    return host.lower() == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def names_of(host: str) -> frozenset[str]:
    """What a server on that host may be called."""
    if is_loopback(host):
        return LOOPBACK | {host.lower()}
    if host in EVERYWHERE:
        return LOOPBACK | {socket.gethostname().lower(), socket.getfqdn().lower()}
    return frozenset({host.lower()})


def host_name(header: str) -> str:
    """The host in a Host header, without its port."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].lower()


def _origin(header: str) -> str | None:
    try:
        return urlsplit(header).hostname
    except ValueError:
        return None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
