"""Answers of the API: JSON in ASCII, and errors as `{"error", "hint"}`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tildone.value import value

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
