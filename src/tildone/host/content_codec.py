"""Converts content blocks and usage from pi's JSON objects and back. Decoding never fails: see `message_codec`."""

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
"""The field of a block that holds its `provider_state`. Pi preserves unknown fields and sends them to no provider."""


def decode_blocks(content: object) -> tuple[Block, ...]:
    """Return content as blocks, whether it is a string, a list of blocks, or missing."""
    if isinstance(content, str):
        return (TextBlock(content),)
    return tuple(map(decode_block, content)) if isinstance(content, list) else ()


def encode_blocks(content: Iterable[Block]) -> list[JsonObject]:
    """Return the JSON objects of blocks."""
    return [encode_block(block) for block in content]


def decode_block(record: object) -> Block:
    """Return the block that a JSON value describes."""
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
    """Return the JSON object of a block."""
    match block:
        case TextBlock(text, signature, state, extra):
            return {"type": "text", "text": text, **_state("textSignature", signature, state), **extra}
        case ThinkingBlock(thinking, signature, redacted, state, extra):
            optional = {**_state("thinkingSignature", signature, state), **present(redacted=redacted)}
            return {"type": "thinking", "thinking": thinking, **optional, **extra}
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
    """Return the usage that a JSON object describes."""
    fields = Fields(record)
    cost = fields.object("cost")
    return Usage(
        fields.number("input"),
        fields.number("output"),
        fields.number("cacheRead"),
        fields.number("cacheWrite"),
        fields.number("totalTokens"),
        None if cost is None else _decode_cost(cost),
        fields.number("reasoning"),
        fields.rest,
    )


def encode_usage(usage: Usage) -> JsonObject:
    """Return the JSON object of a usage."""
    numbers = present(
        input=usage.input,
        output=usage.output,
        cacheRead=usage.cache_read,
        cacheWrite=usage.cache_write,
        totalTokens=usage.total_tokens,
        cost=None if usage.cost is None else _encode_cost(usage.cost),
        reasoning=usage.reasoning,
    )
    return {**numbers, **usage.extra}


def _encode_cost(cost: Cost) -> JsonObject:
    prices = present(
        input=cost.input,
        output=cost.output,
        cacheRead=cost.cache_read,
        cacheWrite=cost.cache_write,
        total=cost.total,
    )
    return {**prices, **cost.extra}


def _decode_cost(record: JsonObject) -> Cost:
    fields = Fields(record)
    return Cost(
        fields.number("input"),
        fields.number("output"),
        fields.number("cacheRead"),
        fields.number("cacheWrite"),
        fields.number("total"),
        fields.rest,
    )


def _decode_tool_call(fields: Fields) -> ToolCallBlock:
    call_id, name, arguments = fields.text("id") or "", fields.text("name") or "", fields.object("arguments") or {}
    raw, signature = fields.text("rawArguments"), fields.text("thoughtSignature")
    return ToolCallBlock(call_id, name, arguments, raw, signature, fields.object(PROVIDER_STATE), fields.rest)


def _state(field: str, signature: str | None, state: JsonObject | None) -> JsonObject:
    return present(**{field: signature, PROVIDER_STATE: state})
