"""The content blocks of messages, and the token usage of a request.

`Block` is a closed union over pi's block types. A block of another type is an `UnknownBlock`, which holds its record
verbatim; unknown fields are in `extra`. `content_codec` converts blocks to pi's JSON objects and back.
"""

from __future__ import annotations

from typing import TypeVar, assert_never

from tildone.host.wire import NO_EXTRA, Extra, JsonObject
from tildone.kit.definition import ImageContent, TextContent, ToolResult
from tildone.log import codec
from tildone.value import value

N = TypeVar("N", int, float)


@value
class TextBlock:
    """Text. `signature` and `provider_state` are opaque data to be sent back to the provider."""

    text: str
    signature: str | None = None
    provider_state: JsonObject | None = None
    extra: Extra = NO_EXTRA


@value
class ThinkingBlock:
    """A model's reasoning. If it is `redacted`, only its signature is known."""

    thinking: str
    signature: str | None = None
    redacted: bool | None = None
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
    """A tool call. Arguments that are not a JSON object are in `raw_arguments`, and `arguments` is empty."""

    id: str
    name: str
    arguments: JsonObject
    raw_arguments: str | None = None
    signature: str | None = None
    provider_state: JsonObject | None = None
    extra: Extra = NO_EXTRA


@value
class UnknownBlock:
    """A block of an unknown type, verbatim."""

    record: JsonObject


Block = TextBlock | ThinkingBlock | ImageBlock | ToolCallBlock | UnknownBlock
Content = str | tuple[Block, ...]


@value
class Cost:
    """The price of a request in dollars; None marks a number that the record does not have."""

    input: float | None = 0
    output: float | None = 0
    cache_read: float | None = 0
    cache_write: float | None = 0
    total: float | None = 0
    extra: Extra = NO_EXTRA


@value
class Usage:
    """The tokens of a request; None marks a number that the record does not have.

    `input` excludes tokens that were read from or written to the cache.
    """

    input: int | None = 0
    output: int | None = 0
    cache_read: int | None = 0
    cache_write: int | None = 0
    total_tokens: int | None = 0
    cost: Cost | None = Cost()
    reasoning: int | None = None
    extra: Extra = NO_EXTRA


def tool_call(call_id: str, name: str, arguments: str | Extra) -> ToolCallBlock:
    """Return a call with the arguments that a model wrote; text other than a JSON object becomes `raw_arguments`."""
    if not isinstance(arguments, str):
        return ToolCallBlock(call_id, name, dict(arguments))
    if not arguments.strip():
        return ToolCallBlock(call_id, name, {})
    try:
        parsed = codec.parse_strictly(arguments)
    except ValueError:
        parsed = None
    if isinstance(parsed, dict):
        return ToolCallBlock(call_id, name, parsed)
    return ToolCallBlock(call_id, name, {}, raw_arguments=arguments)


def arguments_of(call: ToolCallBlock) -> str | JsonObject:
    """Return the arguments of a call: an object, or the model's text if it is not a JSON object."""
    return call.arguments if call.raw_arguments is None else call.raw_arguments


def blocks(content: Content) -> tuple[Block, ...]:
    return (TextBlock(content),) if isinstance(content, str) else content


def result_blocks(result: ToolResult) -> tuple[Block, ...]:
    """Return the content of a tool's result as blocks of a message."""
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
    """Return the sum of two usages; a missing number counts as 0, except `reasoning`."""
    if other is None:
        return one
    return Usage(
        _add(one.input, other.input),
        _add(one.output, other.output),
        _add(one.cache_read, other.cache_read),
        _add(one.cache_write, other.cache_write),
        _add(one.total_tokens, other.total_tokens),
        _add_cost(one.cost or Cost(), other.cost or Cost()),
        _add_reported(one.reasoning, other.reasoning),
    )


def _add_reported(one: int | None, other: int | None) -> int | None:
    return one if other is None else (one or 0) + other


def _add_cost(one: Cost, other: Cost) -> Cost:
    return Cost(
        _add(one.input, other.input),
        _add(one.output, other.output),
        _add(one.cache_read, other.cache_read),
        _add(one.cache_write, other.cache_write),
        _add(one.total, other.total),
    )


def _add(one: N | None, other: N | None) -> N | int:
    return (one or 0) + (other or 0)
