"""JSON-RPC messages as lines of bytes: strict validation, and precise errors for invalid lines."""

from __future__ import annotations

import contextlib
import json

from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCMessage,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from tildone.mcp.surrogates import replace_surrogates

MAX_MESSAGE_BYTES = 1_048_576


class InvalidMessage(ValueError):
    """A line that is not a message. `request` is the id found in it, if any, for the error response."""

    def __init__(self, code: int, reason: str, request: int | str | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.request = request


def decode(line: bytes) -> JSONRPCMessage:
    """Parse a line.

    Raises:
        InvalidMessage: the line is not a message.
    """
    if len(line) <= MAX_MESSAGE_BYTES:
        with contextlib.suppress(ValidationError):
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            if not isinstance(message, JSONRPCNotification) or b'"id"' not in line:
                return message
    return _decode_slowly(line)


def _decode_slowly(line: bytes) -> JSONRPCMessage:
    """Parse a line that pydantic's parser refused, or parsed as a notification although it has an id.

    That parser refuses lone surrogates and deep nesting, reports no request id, and parses a request with an invalid
    id as a notification.
    """
    try:
        data = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise InvalidMessage(PARSE_ERROR, "this is not JSON, or it is nested too deeply") from error
    raw_id = data.get("id") if isinstance(data, dict) else None
    request = raw_id if isinstance(raw_id, int | str) and not isinstance(raw_id, bool) else None
    if len(line) > MAX_MESSAGE_BYTES:
        reason = f"a message has at most {MAX_MESSAGE_BYTES} bytes, not {len(line)}"
        raise InvalidMessage(INVALID_REQUEST, reason, request)
    try:
        message = jsonrpc_message_adapter.validate_python(data, by_name=False)
    except ValidationError as error:
        raise InvalidMessage(INVALID_REQUEST, "this is no message of JSON-RPC 2.0", request) from error
    if isinstance(message, JSONRPCNotification) and raw_id is not None:
        raise InvalidMessage(INVALID_REQUEST, "an id is a number or some text")
    return message


def encode(message: JSONRPCMessage) -> bytes:
    """Serialize a message as a line."""
    try:
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
    except (PydanticSerializationError, UnicodeEncodeError):
        text = json.dumps(replace_surrogates(message.model_dump(by_alias=True, exclude_unset=True)))
    return f"{text}\n".encode()
