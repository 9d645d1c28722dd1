"""Decodes the stream events and responses of the provider library."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from decimal import Decimal

from genai_prices import Usage as PricedUsage
from genai_prices.types import PriceCalculation
from pydantic_ai.messages import (
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.usage import RequestUsage

from tildone.host.content import Block, Cost, TextBlock, ThinkingBlock, ToolCallBlock, Usage, tool_call
from tildone.host.messages import AssistantMessage, StopReason
from tildone.host.model import Model, ModelFailure
from tildone.host.prices import Price, cost_of
from tildone.host.providers.provider_state import REDACTED, state_of
from tildone.host.stream_events import BlockDelta, BlockEnd, BlockEvent, BlockKind, BlockStart
from tildone.host.wire import Extra
from tildone.log import codec
from tildone.value import replace

STOP_REASONS = {"stop": StopReason.STOP, "length": StopReason.LENGTH, "tool_call": StopReason.TOOL_USE}


class StreamAssembler:
    """Turns the library's stream events into ours, for one answer.

    The library numbers all parts of an answer; our messages have no blocks for some of them (files, calls that the
    provider executes itself). Those are skipped, and the others are numbered again without gaps. A part that starts a
    second time, because the library recognized its type late, keeps its number.
    """

    def __init__(self) -> None:
        self._indices: list[int] = []

    def events(self, event: ModelResponseStreamEvent) -> Iterator[BlockEvent]:
        """Return our events for one event of the library."""
        match event:
            case PartStartEvent(index=index, part=part):
                yield from self._started(index, part)
            case PartDeltaEvent(index=index, delta=delta) if index in self._indices:
                yield from _delta(self._indices.index(index), delta)
            case PartEndEvent(index=index, part=part) if index in self._indices:
                block = block_of(part)
                if block is not None:
                    yield BlockEnd(_kind(block), self._indices.index(index), block)
            case _:
                pass

    def _started(self, index: int, part: ModelResponsePart) -> Iterator[BlockEvent]:
        if block_of(part) is None:
            return
        if index not in self._indices:
            self._indices.append(index)
        at = self._indices.index(index)
        match part:
            case TextPart(content=content):
                yield BlockStart(BlockKind.TEXT, at)
                yield from _piece(BlockKind.TEXT, at, content)
            case ThinkingPart(content=content):
                yield BlockStart(BlockKind.THINKING, at)
                yield from _piece(BlockKind.THINKING, at, content)
            case ToolCallPart(tool_name=name, args=arguments, tool_call_id=call_id):
                yield BlockStart(BlockKind.TOOL_CALL, at, call_id, name)
                yield from _piece(BlockKind.TOOL_CALL, at, arguments)


def _delta(at: int, delta: object) -> Iterator[BlockEvent]:
    match delta:
        case TextPartDelta(content_delta=content):
            yield from _piece(BlockKind.TEXT, at, content)
        case ThinkingPartDelta(content_delta=content):
            yield from _piece(BlockKind.THINKING, at, content)
        case ToolCallPartDelta(args_delta=arguments):
            yield from _piece(BlockKind.TOOL_CALL, at, arguments)


def _piece(kind: BlockKind, at: int, more: str | Extra | None) -> Iterator[BlockEvent]:
    if more:
        yield BlockDelta(kind, at, more if isinstance(more, str) else codec.dump(more))


def _kind(block: TextBlock | ThinkingBlock | ToolCallBlock) -> BlockKind:
    match block:
        case TextBlock():
            return BlockKind.TEXT
        case ThinkingBlock():
            return BlockKind.THINKING
        case ToolCallBlock():  # exhaustive
            return BlockKind.TOOL_CALL


def block_of(part: ModelResponsePart) -> TextBlock | ThinkingBlock | ToolCallBlock | None:
    """Return a part as a block of our messages; None if they have no such block."""
    match part:
        case TextPart(content=content):
            kept = state_of(part)
            return TextBlock(content, kept.signature, kept.state)
        case ThinkingPart(content=content, id=part_id, signature=signature):
            if part_id == REDACTED:
                return ThinkingBlock(content, signature, redacted=True)
            kept = state_of(part)
            return ThinkingBlock(content, kept.signature, provider_state=kept.state)
        case ToolCallPart(tool_name=name, args=arguments, tool_call_id=call_id):
            kept = state_of(part)
            call = tool_call(call_id, name, arguments or "")
            return replace(call, signature=kept.signature, provider_state=kept.state)
        case _:
            return None


def answer(response: ModelResponse, model: Model, price: Price | None = None) -> AssistantMessage:
    """Return the complete answer. Its cost is computed from `price`, else as the provider or the price list says.

    Raises:
        ModelFailure: the provider refused to answer, or the answer is incomplete.
    """
    content = tuple(block for part in response.parts if (block := block_of(part)) is not None)
    raw_reason = (response.provider_details or {}).get("finish_reason")
    usage = usage_of(response.usage)
    return AssistantMessage(
        content,
        model.api,
        model.provider,
        model.id,
        replace(usage, cost=_cost(response) if price is None else cost_of(usage, price)),
        _stop_reason(response, content, raw_reason),
        int(response.timestamp.timestamp() * 1000),
        response_id=response.provider_response_id,
        response_model=response.model_name if response.model_name != model.id else None,
        raw_stop_reason=raw_reason,
    )


def _stop_reason(response: ModelResponse, content: Sequence[Block], raw_reason: str | None) -> StopReason:
    if response.finish_reason == "content_filter":
        refusal = (response.provider_details or {}).get("refusal")
        raise ModelFailure(f"the provider refused to answer: {refusal or raw_reason}", transient=False)
    if response.finish_reason == "error":
        raise ModelFailure(f"the provider broke the answer off: {raw_reason}", transient=True)
    if response.state != "complete" or (response.finish_reason is None and raw_reason is None):
        raise ModelFailure("the answer was cut off", transient=True)
    calls = any(isinstance(block, ToolCallBlock) for block in content)
    if calls and response.finish_reason != "length":
        return StopReason.TOOL_USE
    return STOP_REASONS.get(response.finish_reason or "stop", StopReason.STOP)


def usage_of(counted: RequestUsage) -> Usage:
    """Return the usage as pi counts it: tokens read from and written to the cache are not part of the input."""
    read, written = counted.cache_read_tokens, counted.cache_write_tokens
    return Usage(
        input=max(0, counted.input_tokens - read - written),
        output=counted.output_tokens,
        cache_read=read,
        cache_write=written,
        total_tokens=counted.total_tokens,
        reasoning=counted.output_reasoning_tokens or None,
    )


def _cost(response: ModelResponse) -> Cost:
    """Return the price in dollars: as billed by the provider, else from the price list, else 0."""
    cost = Cost()
    with contextlib.suppress(AssertionError, LookupError, ValueError):
        price = response.cost()
        shares = _input_shares(price, response.usage)
        cost = replace(shares, output=float(price.output_price), total=float(price.total_price))
    billed = response.usage.cost
    return cost if billed is None else replace(cost, total=float(billed))


def _input_shares(price: PriceCalculation, counted: RequestUsage) -> Cost:
    """Return the price of the input by kind of token: the price of each alone, scaled so that the sum is the total."""
    read, written = counted.cache_read_tokens, counted.cache_write_tokens
    kinds = (
        PricedUsage(input_tokens=max(0, counted.input_tokens - read - written)),
        PricedUsage(input_tokens=read, cache_read_tokens=read),
        PricedUsage(input_tokens=written, cache_write_tokens=written),
    )
    prices = [price.model_price.calc_price(usage)["input_price"] for usage in kinds]
    whole = sum(prices, Decimal(0))
    scale = price.input_price / whole if whole else Decimal(0)
    plain, cache_read, cache_write = (float(part * scale) for part in prices)
    return Cost(input=plain, cache_read=cache_read, cache_write=cache_write)
