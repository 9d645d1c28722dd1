"""The library's answer as ours: events as deltas, the response as a message."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from genai_prices import Usage as Counted
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

from tildone.host.messages import Block, Message, ModelIdentity, Usage, assistant, empty_usage, text, tool_call
from tildone.host.model import Delta, ModelFailure
from tildone.host.providers.provider_state import REDACTED, state_fields
from tildone.log import codec

STOP_REASONS = {"stop": "stop", "length": "length", "tool_call": "toolUse"}


class Deltas:
    """Turns events into deltas. Parts that are no part of our messages are passed over, and not counted."""

    def __init__(self) -> None:
        self._shown: list[int] = []

    def of(self, event: ModelResponseStreamEvent) -> Iterator[Delta]:
        """What an event tells."""
        match event:
            case PartStartEvent(index=index, part=part):
                yield from self._started(index, part)
            case PartDeltaEvent(index=index, delta=delta) if index in self._shown:
                yield from _more(self._shown.index(index), delta)
            case PartEndEvent(index=index, part=part) if index in self._shown:
                yield from _ended(self._shown.index(index), part)
            case _:
                pass

    def _started(self, index: int, part: ModelResponsePart) -> Iterator[Delta]:
        if block_of(part) is None:
            return
        if index not in self._shown:
            self._shown.append(index)
        at = self._shown.index(index)
        match part:
            case TextPart(content=content):
                yield {"type": "text_start", "contentIndex": at}
                yield from _text("text_delta", at, content)
            case ThinkingPart(content=content):
                yield {"type": "thinking_start", "contentIndex": at}
                yield from _text("thinking_delta", at, content)
            case ToolCallPart(tool_name=name, args=arguments, tool_call_id=call_id):
                yield {"type": "toolcall_start", "contentIndex": at, "id": call_id, "toolName": name}
                yield from _text("toolcall_delta", at, arguments)


def _more(at: int, delta: object) -> Iterator[Delta]:
    match delta:
        case TextPartDelta(content_delta=content):
            yield from _text("text_delta", at, content)
        case ThinkingPartDelta(content_delta=content):
            yield from _text("thinking_delta", at, content)
        case ToolCallPartDelta(args_delta=arguments):
            yield from _text("toolcall_delta", at, arguments)


def _ended(at: int, part: ModelResponsePart) -> Iterator[Delta]:
    match part:
        case TextPart(content=content):
            yield {"type": "text_end", "contentIndex": at, "content": content}
        case ThinkingPart(content=content):
            yield {"type": "thinking_end", "contentIndex": at, "content": content}
        case ToolCallPart():
            yield {"type": "toolcall_end", "contentIndex": at, "toolCall": block_of(part)}


def _text(kind: str, at: int, more: str | Mapping[str, Any] | None) -> Iterator[Delta]:
    if more:
        yield {"type": kind, "contentIndex": at, "delta": more if isinstance(more, str) else codec.dump(more)}


def block_of(part: ModelResponsePart) -> Block | None:
    """A part as a block of our messages; None for what they do not know."""
    match part:
        case TextPart(content=content):
            return text(content) | state_fields(part, "textSignature")
        case ThinkingPart(content=content, id=part_id, signature=signature):
            block = {"type": "thinking", "thinking": content}
            if part_id == REDACTED:
                return block | {"thinkingSignature": signature, "redacted": True}
            return block | state_fields(part, "thinkingSignature")
        case ToolCallPart(tool_name=name, args=arguments, tool_call_id=call_id):
            return tool_call(call_id, name, arguments or "") | state_fields(part, "thoughtSignature")
        case _:
            return None


def answer(response: ModelResponse, speaker: ModelIdentity) -> Message:
    """The whole answer.

    Raises:
        ModelFailure: it was not brought to an end.
    """
    content = [block for part in response.parts if (block := block_of(part)) is not None]
    details = response.provider_details or {}
    raw_reason = details.get("finish_reason")
    return assistant(
        content,
        speaker,
        usage_of(response.usage) | {"cost": _cost(response)},
        _stop_reason(response, content, raw_reason),
        int(response.timestamp.timestamp() * 1000),
        response_id=response.provider_response_id,
        responseModel=response.model_name if response.model_name != speaker.id else None,
        rawStopReason=raw_reason,
    )


def _stop_reason(response: ModelResponse, content: list[Block], raw_reason: str | None) -> str:
    if response.finish_reason == "content_filter":
        refusal = (response.provider_details or {}).get("refusal")
        raise ModelFailure(f"the provider refused to answer: {refusal or raw_reason}", transient=False)
    if response.finish_reason == "error":
        raise ModelFailure(f"the provider broke the answer off: {raw_reason}", transient=True)
    if response.state != "complete" or (response.finish_reason is None and raw_reason is None):
        raise ModelFailure("the answer was cut off", transient=True)
    calls = any(block["type"] == "toolCall" for block in content)
    if calls and response.finish_reason != "length":
        return "toolUse"
    return STOP_REASONS.get(response.finish_reason or "stop", "stop")


def usage_of(counted: RequestUsage) -> Usage:
    """Tokens as pi counts them: those read from and written to the cache are not part of the input."""
    read, written = counted.cache_read_tokens, counted.cache_write_tokens
    usage = empty_usage() | {
        "input": max(0, counted.input_tokens - read - written),
        "output": counted.output_tokens,
        "cacheRead": read,
        "cacheWrite": written,
        "totalTokens": counted.total_tokens,
    }
    if counted.output_reasoning_tokens:
        usage["reasoning"] = counted.output_reasoning_tokens
    return usage


def _cost(response: ModelResponse) -> dict[str, float]:
    """What the answer cost in dollars: what the provider says, else what the price list says, else nothing."""
    cost: dict[str, float] = empty_usage()["cost"]
    with contextlib.suppress(AssertionError, LookupError, ValueError):
        price = response.cost()
        cost |= _shares(price, response.usage)
        cost |= {"output": float(price.output_price), "total": float(price.total_price)}
    told = response.usage.cost
    return cost if told is None else cost | {"total": float(told)}


def _shares(price: PriceCalculation, counted: RequestUsage) -> dict[str, float]:
    """The price of the input, parted: by what each kind of token costs alone, scaled to what all of them cost."""
    read, written = counted.cache_read_tokens, counted.cache_write_tokens
    alone = {
        "input": Counted(input_tokens=max(0, counted.input_tokens - read - written)),
        "cacheRead": Counted(input_tokens=read, cache_read_tokens=read),
        "cacheWrite": Counted(input_tokens=written, cache_write_tokens=written),
    }
    prices = {kind: price.model_price.calc_price(usage)["input_price"] for kind, usage in alone.items()}
    whole = sum(prices.values(), Decimal(0))
    scale = price.input_price / whole if whole else Decimal(0)
    return {kind: float(part * scale) for kind, part in prices.items()}
