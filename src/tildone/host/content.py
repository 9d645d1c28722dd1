"""What messages are made of: blocks of content, and the usage of a request.

`Block` is a closed union over pi's block types. Blocks of other types are kept verbatim in `UnknownBlock`, fields that
are not known in `extra`. `content_codec` turns blocks into pi's JSON objects and back.
"""

from __future__ import annotations

from typing import assert_never

from tildone.host.wire import NO_EXTRA, Extra, JsonObject
from tildone.kit.definition import ImageContent, TextContent, ToolResult
from tildone.log import codec
from tildone.value import value


@value
class TextBlock:
    """Text. `signature` and `provider_state` are opaque data that the provider wants to see again."""

    text: str
    signature: str | None = None
    provider_state: JsonObject | None = None
    extra: Extra = NO_EXTRA


@value
class ThinkingBlock:
    """A model's reasoning. Of `redacted` reasoning only the signature is known."""

    thinking: str
    signature: str | None = None
    redacted: bool = False
    provider_state: JsonObject | None = None
    extra: Extra = NO_EXTRA


@value
class ImageBlock:
    """An image, base64-encoded."""

    data: str
    mime_type: str
    extra: Extra = NO_EXTRA


@value
class ToolCallBlock:
    """A call of a tool. Arguments that are not a JSON object are kept in `raw_arguments`, beside an empty object."""

    id: str
    name: str
    arguments: JsonObject
    raw_arguments: str | None = None
    signature: str | None = None
    provider_state: JsonObject | None = None
    extra: Extra = NO_EXTRA


@value
class UnknownBlock:
    """A block of a type that is not known here, verbatim."""

    record: JsonObject


Block = TextBlock | ThinkingBlock | ImageBlock | ToolCallBlock | UnknownBlock
Content = str | tuple[Block, ...]


@value
class Cost:
    """The price of a request in dollars."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    total: float = 0
    extra: Extra = NO_EXTRA


@value
class Usage:
    """The tokens of a request. Those read from or written to the cache are not part of `input`."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total_tokens: int = 0
    cost: Cost = Cost()
    reasoning: int | None = None
    extra: Extra = NO_EXTRA


def tool_call(call_id: str, name: str, arguments: str | Extra) -> ToolCallBlock:
    """A call with arguments as a model wrote them: text that is no JSON object is kept as `raw_arguments`."""
    if not isinstance(arguments, str):
        return ToolCallBlock(call_id, name, dict(arguments))
    if not arguments.strip():
        return ToolCallBlock(call_id, name, {})
    try:
        parsed = codec.parse(arguments)
    except ValueError:
        parsed = None
    if isinstance(parsed, dict):
        return ToolCallBlock(call_id, name, parsed)
    return ToolCallBlock(call_id, name, {}, raw_arguments=arguments)


def arguments_of(call: ToolCallBlock) -> str | JsonObject:
    """The arguments of a call; text, which fits no tool's schema, if the model wrote no JSON object."""
    return call.arguments if call.raw_arguments is None else call.raw_arguments


def blocks(content: Content) -> tuple[Block, ...]:
    """Content as blocks."""
    return (TextBlock(content),) if isinstance(content, str) else content


def result_blocks(result: ToolResult) -> tuple[Block, ...]:
    """The content of a tool's result as blocks of a message."""
    return tuple(_result_block(content) for content in result.content)


def _result_block(content: TextContent | ImageContent) -> Block:
    match content:
        case TextContent(text):
            return TextBlock(text)
        case ImageContent(data, mime_type):
            return ImageBlock(data, mime_type)
        case _:
            assert_never(content)


def add_usage(one: Usage, other: Usage | None) -> Usage:
    """The usage of two requests together."""
    if other is None:
        return one
    return Usage(
        one.input + other.input,
        one.output + other.output,
        one.cache_read + other.cache_read,
        one.cache_write + other.cache_write,
        one.total_tokens + other.total_tokens,
        _add_cost(one.cost, other.cost),
        _add_reported(one.reasoning, other.reasoning),
    )


def _add_reported(one: int | None, other: int | None) -> int | None:
    return one if other is None else (one or 0) + other


def _add_cost(one: Cost, other: Cost) -> Cost:
    return Cost(
        one.input + other.input,
        one.output + other.output,
        one.cache_read + other.cache_read,
        one.cache_write + other.cache_write,
        one.total + other.total,
    )
