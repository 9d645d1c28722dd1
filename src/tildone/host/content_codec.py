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
from tildone.host.wire import Field, Fields, JsonObject, Shape, Shapes

# Pi preserves unknown fields of a block and sends them to no provider.
_STATE = Field("provider_state", Fields.object, wire="tildone")

BLOCKS: Shapes[Block] = Shapes(
    "type",
    {
        "text": Shape(TextBlock, Field("text", needed=True), Field("signature", wire="textSignature"), _STATE),
        "thinking": Shape(
            ThinkingBlock,
            Field("thinking", needed=True),
            Field("signature", wire="thinkingSignature"),
            Field("redacted", Fields.flag),
            _STATE,
        ),
        "image": Shape(ImageBlock, Field("data", needed=True), Field("mime_type", needed=True)),
        "toolCall": Shape(
            ToolCallBlock,
            Field("id", needed=True),
            Field("name", needed=True),
            Field("arguments", Fields.object, needed=True),
            Field("raw_arguments"),
            Field("signature", wire="thoughtSignature"),
            _STATE,
        ),
    },
)

_COUNTS = ("input", "output", "cache_read", "cache_write")
_COST = Shape(Cost, *(Field(name, Fields.number) for name in (*_COUNTS, "total")))
_USAGE = Shape(
    Usage,
    *(Field(name, Fields.number) for name in (*_COUNTS, "total_tokens")),
    Field("cost", _COST.nested, write=_COST.encode),
    Field("reasoning", Fields.number),
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
