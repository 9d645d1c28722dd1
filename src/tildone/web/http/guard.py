"""What is refused before anything else, and the headers of every answer.

Every request has to name this server (DNS rebinding), and to come from its own pages or from no page. A page of another
origin can therefore neither read nor change anything, even if the browser sends the cookie along: it cannot set the
header with the key without asking first, and it is never answered that it may.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tildone.serving.origins import ServedNames
from tildone.web.http.answers import json_response

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
NO_STORE = "no-store"
METHODS = frozenset({"GET", "HEAD", "POST"})


class Guard:
    """ASGI middleware around the application. `admit` is called with the client of each request that is let in."""

    def __init__(self, app: ASGIApp, names: ServedNames, admit: Callable[[tuple[str, int] | None], None]) -> None:
        self._app, self._names, self._admit = app, names, admit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, text in HEADERS.items():
                    headers[name] = text
                headers.setdefault("Cache-Control", NO_STORE)
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            self._admit(scope.get("client"))
            await self._app(scope, receive, send_with_headers)
            return
        status, error, hint = refusal
        response = json_response({"error": error, "hint": hint}, status, {"Connection": "close"})
        await response(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        headers = Headers(scope=scope)
        port = (scope.get("server") or ("", None))[1]
        host = self._names.host_of(headers.getlist("host"))
        if host is None:
            return 421, "This board has another address.", "Behind a proxy, name its address: --public-url URL"
        if not self._names.is_same_origin(headers.getlist("origin"), host, port):
            return 403, "Requests from other origins are not allowed.", ""
        if not _from_own_page(headers):
            return 403, "Requests from other sites are not allowed.", ""
        if scope["method"] not in METHODS:
            return 405, "This method is not allowed.", ""
        return None


def _from_own_page(headers: Headers) -> bool:
    """Whether a browser says that the request comes from a page of ours, or from a person who follows a link.

    What a link leads to is the frame of the pages, which holds no data.
    """
    site = headers.getlist("sec-fetch-site")
    if not site or site == ["same-origin"]:
        return True
    if headers.get("sec-fetch-mode") == "navigate":
        return headers.get("sec-fetch-dest") == "document"
    return site == ["none"]
