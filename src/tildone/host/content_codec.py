"""Converts content blocks and usage from pi's JSON objects and back. Decoding never fails: see `wire`."""

from __future__ import annotations

from collections.abc import Iterable

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
from tildone.host.wire import Fields, JsonObject, Shape, Shapes, WireField

# Pi preserves unknown fields of a block and sends them to no provider.
_STATE = WireField("provider_state", Fields.object, wire="tildone")

BLOCKS: Shapes[Block] = Shapes(
    "type",
    {
        "text": Shape(TextBlock, WireField("text", needed=True), WireField("signature", wire="textSignature"), _STATE),
        "thinking": Shape(
            ThinkingBlock,
            WireField("thinking", needed=True),
            WireField("signature", wire="thinkingSignature"),
            WireField("redacted", Fields.flag),
            _STATE,
        ),
        "image": Shape(ImageBlock, WireField("data", needed=True), WireField("mime_type", needed=True)),
        "toolCall": Shape(
            ToolCallBlock,
            WireField("id", needed=True),
            WireField("name", needed=True),
            WireField("arguments", Fields.object, needed=True),
            WireField("raw_arguments"),
            WireField("signature", wire="thoughtSignature"),
            _STATE,
        ),
    },
)

_COUNTS = ("input", "output", "cache_read", "cache_write")
_COST = Shape(Cost, *(WireField(name, Fields.number) for name in (*_COUNTS, "total")))
_USAGE = Shape(
    Usage,
    *(WireField(name, Fields.number) for name in (*_COUNTS, "total_tokens")),
    WireField("cost", _COST.nested, write=_COST.encode),
    WireField("reasoning", Fields.number),
)


def decode_blocks(content: object) -> tuple[Block, ...]:
    """Return content as blocks, whether it is a string, a list of blocks, or missing."""
    if isinstance(content, str):
        return (TextBlock(content),)
    return tuple(map(decode_block, content)) if isinstance(content, list) else ()


def encode_blocks(content: Iterable[Block]) -> list[JsonObject]:
    return [encode_block(block) for block in content]


def decode_block(record: object) -> Block:
    """Return the block that a JSON value describes."""
    if not isinstance(record, dict):
        return UnknownBlock({"type": "unknown", "value": record})
    block = BLOCKS.decode(record)
    return UnknownBlock(record) if block is None else block


def encode_block(block: Block) -> JsonObject:
    return block.record if isinstance(block, UnknownBlock) else BLOCKS.encode(block)


def decode_usage(record: JsonObject) -> Usage:
    return _USAGE.decode(Fields(record)) or Usage()


def encode_usage(usage: Usage) -> JsonObject:
    return _USAGE.encode(usage)
