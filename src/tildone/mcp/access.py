"""Access control for the HTTP server: host name, origin, path and bearer token of every request."""

from __future__ import annotations

from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tildone.mcp.reporting import log_error
from tildone.mcp.token import Token
from tildone.serving.origins import ServedNames

PATH = "/mcp"


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
        self._names = ServedNames(host)

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
        host = self._names.host_of(headers.getlist("host"))
        if host is None:
            return PlainTextResponse("This server has another host name.", 421)
        if not self._names.is_same_origin(headers.getlist("origin"), host, port):
            return PlainTextResponse("Requests from other origins are not allowed.", 403)
        if path != PATH:
            return PlainTextResponse(f"Not found; the server is at {PATH}.", 404)
        if self._token and not self._token.matches(headers.get("authorization", "")):
            challenge = {"WWW-Authenticate": 'Bearer realm="tildone"'}
            return PlainTextResponse("A token is required: Authorization: Bearer TOKEN", 401, challenge)
        return None
