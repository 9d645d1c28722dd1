"""HTTP: how requests and answers are read and written, what is refused before anything else, and the headers.

Every request has to name this server (DNS rebinding), and to come from its own pages or from no page. A page of another
origin can therefore neither read nor change anything, even if the browser sends the cookie along: it cannot set the
header with the key without asking first, and it is never answered that it may.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tildone.base import value
from tildone.base.serving import ServedNames
from tildone.screens.board.pages import problem_page

MAX_BODY_BYTES = 1_000_000
JSON = "application/json"


class Problem(Exception):
    """A request that is answered with an error. `more` are further fields of the body."""

    def __init__(self, status: int, error: str, hint: str = "", **more: object) -> None:
        super().__init__(error)
        self.status, self.body = status, {"error": error, "hint": hint, **more}


@value
class ApiAnswer:
    """A successful answer: its body, and its headers beside those of every answer."""

    body: object
    headers: tuple[tuple[str, str], ...] = ()


def json_bytes(body: object) -> bytes:
    """Return a value as JSON in ASCII, in which no character hides or reorders others."""
    return json.dumps(body, separators=(",", ":"), allow_nan=False).encode("ascii")


def json_response(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json_bytes(body), status, headers, JSON)


def wants_page(headers: Headers, path: str, base: str = "") -> bool:
    """Return whether a person who looks at an address in a browser reads the answer; the API always answers in JSON."""
    return "text/html" in headers.get("accept", "") and not path.startswith(f"{base}/api/")


async def json_body(request: Request) -> dict[str, Any]:
    """Return the JSON object in a request's body. Raises Problem if it is too long, of another type, or none."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise Problem(415, "The body has to be JSON.", "Send Content-Type: application/json.")
    parts, length = list[bytes](), 0
    async for part in request.stream():
        length += len(part)
        if length > MAX_BODY_BYTES:
            raise Problem(413, "The request is too long.", f"At most {MAX_BODY_BYTES:,} bytes are allowed.")
        parts.append(part)
    try:
        body = json.loads(b"".join(parts))
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise Problem(400, "The body is not a JSON object.")
    return body


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
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            self._admit(scope.get("client"))
            await self._app(scope, receive, send_with_headers)
            return
        status, error, hint = refusal
        response = json_response({"error": error, "hint": hint}, status)
        if wants_page(Headers(scope=scope), scope["path"]):
            response = HTMLResponse(problem_page(error, hint), status)
        response.headers["Connection"] = "close"
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
