"""Content blocks and usage from pi's JSON objects and back. Decoding never fails: see `message_codec`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from tildone.host.content import (
    Block,
    Cost,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    UnknownBlock,
    Usage,
)
from tildone.host.wire import Fields, JsonObject, present

PROVIDER_STATE = "tildone"
"""The field of a block that holds its `provider_state`. Pi keeps fields it does not know, and does not send them on."""


def decode_blocks(content: object) -> tuple[Block, ...]:
    """Content as blocks, whether it is a string, a list of blocks, or missing."""
    if isinstance(content, str):
        return (TextBlock(content),)
    return tuple(map(decode_block, content)) if isinstance(content, list) else ()


def encode_blocks(content: Iterable[Block]) -> list[JsonObject]:
    """Blocks as pi writes them."""
    return [encode_block(block) for block in content]


def decode_block(record: object) -> Block:
    """The block in a JSON value."""
    if not isinstance(record, dict):
        return UnknownBlock({"type": "unknown", "value": record})
    fields = Fields(record, "type")
    match record:
        case {"type": "text", "text": str()}:
            text = fields.text("text") or ""
            return TextBlock(text, fields.text("textSignature"), fields.object(PROVIDER_STATE), fields.rest)
        case {"type": "thinking", "thinking": str()}:
            thinking, signature = fields.text("thinking") or "", fields.text("thinkingSignature")
            state = fields.object(PROVIDER_STATE)
            return ThinkingBlock(thinking, signature, fields.flag("redacted"), state, fields.rest)
        case {"type": "image", "data": str(), "mimeType": str()}:
            return ImageBlock(fields.text("data") or "", fields.text("mimeType") or "", fields.rest)
        case {"type": "toolCall", "id": str(), "name": str(), "arguments": dict()}:
            return _decode_tool_call(fields)
        case _:
            return UnknownBlock(record)


def encode_block(block: Block) -> JsonObject:
    """The JSON object of a block."""
    match block:
        case TextBlock(text, signature, state, extra):
            return {"type": "text", "text": text, **_state("textSignature", signature, state), **extra}
        case ThinkingBlock(thinking, signature, redacted, state, extra):
            kept = {**_state("thinkingSignature", signature, state), **({"redacted": True} if redacted else {})}
            return {"type": "thinking", "thinking": thinking, **kept, **extra}
        case ImageBlock(data, mime_type, extra):
            return {"type": "image", "data": data, "mimeType": mime_type, **extra}
        case ToolCallBlock(call_id, name, arguments, raw_arguments, signature, state, extra):
            call = {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
            raw = present(rawArguments=raw_arguments)
            return {**call, **raw, **_state("thoughtSignature", signature, state), **extra}
        case UnknownBlock(record):
            return record
        case _:
            assert_never(block)


def decode_usage(record: JsonObject) -> Usage:
    """The usage in a JSON object; a number that is missing is 0."""
    fields = Fields(record)
    return Usage(
        fields.number("input") or 0,
        fields.number("output") or 0,
        fields.number("cacheRead") or 0,
        fields.number("cacheWrite") or 0,
        fields.number("totalTokens") or 0,
        _decode_cost(fields.object("cost") or {}),
        fields.number("reasoning"),
        fields.rest,
    )


def encode_usage(usage: Usage) -> JsonObject:
    """The JSON object of a usage."""
    cost = usage.cost
    return {
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
        "totalTokens": usage.total_tokens,
        "cost": {
            "input": cost.input,
            "output": cost.output,
            "cacheRead": cost.cache_read,
            "cacheWrite": cost.cache_write,
            "total": cost.total,
            **cost.extra,
        },
        **present(reasoning=usage.reasoning),
        **usage.extra,
    }


def _decode_cost(record: JsonObject) -> Cost:
    fields = Fields(record)
    return Cost(
        fields.number("input") or 0,
        fields.number("output") or 0,
        fields.number("cacheRead") or 0,
        fields.number("cacheWrite") or 0,
        fields.number("total") or 0,
        fields.rest,
    )


def _decode_tool_call(fields: Fields) -> ToolCallBlock:
    call_id, name, arguments = fields.text("id") or "", fields.text("name") or "", fields.object("arguments") or {}
    raw, signature = fields.text("rawArguments"), fields.text("thoughtSignature")
    return ToolCallBlock(call_id, name, arguments, raw, signature, fields.object(PROVIDER_STATE), fields.rest)


def _state(field: str, signature: str | None, state: JsonObject | None) -> JsonObject:
    return present(**{field: signature, PROVIDER_STATE: state})
