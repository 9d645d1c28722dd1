"""Converts messages from pi's JSON objects and back.

Decoding never fails: a message that lacks a required field becomes an `UnknownMessage`, so a damaged or foreign record
is preserved but shown to nobody. Encoding a decoded record restores its fields and values; only missing content
becomes an empty list, and the text content of an assistant message or tool result a list with one block.
"""

from __future__ import annotations

from tildone.host.content import Block, Content, Usage
from tildone.host.content_codec import decode_blocks, decode_usage, encode_blocks, encode_usage
from tildone.host.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    DeveloperMessage,
    Message,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
)
from tildone.host.wire import Fields, JsonObject, Shape, Shapes, WireField
from tildone.value import replace


def decode_message(record: JsonObject) -> Message:
    message = MESSAGES.decode(record)
    return UnknownMessage(record) if message is None else message


def encode_message(message: Message) -> JsonObject:
    return message.record if isinstance(message, UnknownMessage) else MESSAGES.encode(message)


def decode_custom(fields: Fields) -> CustomMessage | None:
    """Return the custom message in the fields of a message or of an entry; None if a required field is missing."""
    return _CUSTOM.decode(fields)


def encode_custom(message: CustomMessage) -> JsonObject:
    """Return the fields that a custom message and its entry have in common."""
    return _CUSTOM.encode(replace(message, timestamp=None))


def _content(fields: Fields, name: str) -> Content | None:
    content = fields.anything(name)
    if isinstance(content, str):
        return content
    return decode_blocks(content) if isinstance(content, list) else None


def _content_or_none(fields: Fields, name: str) -> Content:
    content = _content(fields, name)
    return () if content is None else content


def _blocks(fields: Fields, name: str) -> tuple[Block, ...]:
    return decode_blocks(fields.anything(name))


def _usage(fields: Fields, name: str) -> Usage | None:
    usage = fields.object(name)
    return None if usage is None else decode_usage(usage)


def _encode_content(content: Content) -> str | list[JsonObject]:
    return content if isinstance(content, str) else encode_blocks(content)


_AT = WireField("timestamp", Fields.number)
_CONTENT = WireField("content", _content, write=_encode_content, needed=True)
_CUSTOM_FIELDS = (
    WireField("custom_type", needed=True),
    _CONTENT,
    WireField("display", Fields.flag),
    WireField("details", Fields.not_null),
    _AT,
)
_CUSTOM = Shape(CustomMessage, *_CUSTOM_FIELDS)

MESSAGES: Shapes[Message] = Shapes(
    "role",
    {
        "user": Shape(UserMessage, WireField("content", _content_or_none, write=_encode_content), _AT),
        "assistant": Shape(
            AssistantMessage,
            WireField("content", _blocks, write=encode_blocks),
            *(WireField(name) for name in ("api", "provider", "model")),
            WireField("usage", _usage, write=encode_usage),
            WireField("stop_reason"),
            _AT,
            *(WireField(name) for name in ("error_message", "response_id", "response_model", "raw_stop_reason")),
        ),
        "toolResult": Shape(
            ToolResultMessage,
            WireField("tool_call_id", needed=True),
            WireField("tool_name", needed=True),
            WireField("content", _blocks, write=encode_blocks),
            WireField("details", Fields.not_null),
            WireField("is_error", Fields.flag),
            _AT,
        ),
        "custom": Shape(CustomMessage, *_CUSTOM_FIELDS),
        "developer": Shape(DeveloperMessage, _CONTENT, WireField("attribution"), _AT),
        "bashExecution": Shape(
            BashExecutionMessage,
            WireField("command", needed=True),
            WireField("output", needed=True),
            WireField("exit_code", Fields.number),
            WireField("cancelled", Fields.flag),
            WireField("truncated", Fields.flag),
            WireField("full_output_path"),
            WireField("exclude_from_context", Fields.flag),
            _AT,
        ),
        "branchSummary": Shape(BranchSummaryMessage, WireField("summary", needed=True), WireField("from_id"), _AT),
        "compactionSummary": Shape(
            CompactionSummaryMessage, WireField("summary", needed=True), WireField("tokens_before", Fields.number), _AT
        ),
    },
)
