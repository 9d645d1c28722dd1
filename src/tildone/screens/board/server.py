"""What is refused before anything else, and the headers of every answer.

Every request has to name this server (DNS rebinding), and to come from its own pages or from no page. A page of another
origin can therefore neither read nor change anything, even if the browser sends the cookie along: it cannot set the
header with the key without asking first, and it is never answered that it may.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tildone.base import value
from tildone.base.serving import ServedNames

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
    """Return a value as a response."""
    return Response(json_bytes(body), status, headers, JSON)


async def json_body(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body of a request.

    Raises:
        Problem: it is too long, of another type, or no JSON object.
    """
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


FOLDER = os.path.join(os.path.dirname(__file__), "static")
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".png": "image/png"}
FIRST_STYLES = ("tokens.css", "base.css")
START = "app.js"
DIGITS = 12

_PAGE = """<!doctype html>
<html lang="en" {attributes}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>tildone</title>
{links}
<script type="module" src="{start}"></script>
</head>
<body>
<div id="app"></div>
<noscript>The board needs JavaScript. In a terminal: tildone watch</noscript>
</body>
</html>
"""


@value
class Asset:
    """A file of the pages."""

    content: bytes
    media_type: str


class Assets:
    """The files below a folder. `version` changes with their content, so that browsers may keep them forever."""

    def __init__(self, folder: str = FOLDER) -> None:
        self._files = _read(folder)
        content = hashlib.sha256()
        for name in sorted(self._files):
            content.update(f"{name}\0{len(self._files[name].content)}\0".encode() + self._files[name].content)
        self.version = content.hexdigest()[:DIGITS]

    def get(self, version: str, name: str) -> Asset | None:
        """Return a file of this version; None if there is none."""
        return self._files.get(name) if version == self.version else None

    def page(self, base: str, attributes: Mapping[str, str]) -> str:
        """Return the HTML frame, which is the same for all addresses. The attributes are data of the root element."""

        def address(name: str) -> str:
            return escape(f"{base}/a/{self.version}/{name}")

        styles = sorted((name for name in self._files if name.endswith(".css")), key=_style_order)
        modules = sorted(name for name in self._files if name.endswith(".js") and name != START)
        icons = [name for name in self._files if name == "icon.svg"]
        links = [f'<link rel="icon" type="image/svg+xml" href="{address(name)}">' for name in icons]
        links += [f'<link rel="stylesheet" href="{address(name)}">' for name in styles]
        links += [f'<link rel="modulepreload" href="{address(name)}">' for name in modules]
        shown = " ".join(f'data-{name}="{escape(text)}"' for name, text in attributes.items())
        return _PAGE.format(attributes=shown, links="\n".join(links), start=address(START))


def _read(folder: str) -> dict[str, Asset]:
    found: dict[str, Asset] = {}
    for place, _, names in os.walk(folder):
        for name in names:
            media_type = TYPES.get(os.path.splitext(name)[1])
            path = os.path.join(place, name)
            if media_type is not None:
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder).replace(os.sep, "/")] = Asset(file.read(), media_type)
    return found


def _style_order(name: str) -> tuple[int, str]:
    return FIRST_STYLES.index(name) if name in FIRST_STYLES else len(FIRST_STYLES), name


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
