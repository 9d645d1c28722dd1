"""JSON-RPC messages as lines of bytes: strict validation, and precise errors for invalid lines."""

from __future__ import annotations

import json

from tildone.mcp.surrogates import replace_surrogates
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.sanitize import escape_json, safe_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    RequestId = int | str

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
CONNECTION_CLOSED = -32000

MAX_MESSAGE_BYTES = 1_048_576

# Results are never circular, and the check would take a third of the time.
_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


class RequestError(Exception):
    """A request cannot be answered with a result: the error of its response."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(safe_text(message))
        self.code = code
        self.data = data


class InvalidMessage(ValueError):
    """A line that is not a message. `request` is the id found in it, if any, for the error response."""

    def __init__(self, code: int, reason: str, request: RequestId | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.request = request


@value
class RpcMessage:
    """A message from the client: a request if it has an id, else a notification.

    A response has an empty `method`, and its id and its result, if it has one, as `params`.
    """

    id: RequestId | None
    method: str
    params: Mapping[str, Any]


def decode(line: bytes) -> RpcMessage:
    """Parse a line.

    Raises:
        InvalidMessage: the line is not a message.
    """
    try:
        data = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise InvalidMessage(PARSE_ERROR, "this is not JSON, or it is nested too deeply") from error
    number = _valid_id(data.get("id")) if isinstance(data, dict) else None
    if len(line) > MAX_MESSAGE_BYTES:
        reason = f"a message has at most {MAX_MESSAGE_BYTES} bytes, not {len(line)}"
        raise InvalidMessage(INVALID_REQUEST, reason, number)
    if not isinstance(data, dict) or data.get("jsonrpc") != "2.0":
        raise InvalidMessage(INVALID_REQUEST, "this is no message of JSON-RPC 2.0", number)
    method, params = data.get("method"), data.get("params")
    if method is None and number is not None and _is_response(data):
        return RpcMessage(None, "", {"id": number, "result": data.get("result")})
    if not isinstance(method, str) or not isinstance(params, dict | None):
        raise InvalidMessage(INVALID_REQUEST, "this is no message of JSON-RPC 2.0", number)
    if number is None and data.get("id") is not None:
        raise InvalidMessage(INVALID_REQUEST, "an id is a number or some text")
    return RpcMessage(number, method, params or {})


def result_line(request: RequestId, result: Mapping[str, Any]) -> bytes:
    """Return the response with a request's result, as a line."""
    return _encoded({"jsonrpc": "2.0", "id": request, "result": result})


def error_line(request: RequestId | None, code: int, message: str, data: object = None) -> bytes:
    """Return the response with a request's error, as a line."""
    error: dict[str, object] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return _encoded({"jsonrpc": "2.0", "id": request, "error": error})


def request_line(request: RequestId, method: str, params: Mapping[str, Any]) -> bytes:
    """Return a request to the client as a line."""
    return _encoded({"jsonrpc": "2.0", "id": request, "method": method, "params": params})


def notification_line(method: str, params: Mapping[str, Any]) -> bytes:
    """Return a notification as a line."""
    return _encoded({"jsonrpc": "2.0", "method": method, "params": params})


def _encoded(message: dict[str, Any]) -> bytes:
    line = _dump(message)
    try:
        encoded = f"{line}\n".encode()
    except UnicodeEncodeError:
        line = _dump(replace_surrogates(message))
        encoded = f"{line}\n".encode()
    safe = escape_json(line)
    return encoded if safe is line else f"{safe}\n".encode()


def _valid_id(number: object) -> RequestId | None:
    return number if isinstance(number, int | str) and not isinstance(number, bool) else None


def _is_response(data: Mapping[str, Any]) -> bool:
    return isinstance(data.get("result"), dict) or isinstance(data.get("error"), dict)
