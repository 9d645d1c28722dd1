"""A model of a provider with a limited rate of requests: each request is taken from that rate before it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Protocol

from tildone.base import TildoneError, replace, value
from tildone.run.events import AnswerDone, BlockEvent, StreamEvent
from tildone.run.kit.definition import AbortSignal
from tildone.run.messages import AssistantMessage, Block, Cost, Extra, ModelMessage, StopReason, Usage


@value
class ToolSpec:
    """The description of a tool in a request. The schema is sent unchanged."""

    name: str
    description: str
    parameters: Extra


@value
class ChatRequest:
    """The input of one model request."""

    system: str
    messages: Sequence[ModelMessage]
    tools: tuple[ToolSpec, ...] = ()


class ModelFailure(TildoneError):
    """A request to a model failed.

    A `transient` failure may be retried, after `retry_after` seconds if the provider named a delay.
    """

    def __init__(self, message: str, *, transient: bool, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.transient = transient
        self.retry_after = retry_after


class Model(Protocol):
    """A model that answers: its API, its provider and its name."""

    @property
    def api(self) -> str: ...
    @property
    def provider(self) -> str: ...
    @property
    def id(self) -> str: ...

    def stream(self, request: ChatRequest, signal: AbortSignal | None = None) -> AsyncGenerator[StreamEvent, None]:
        """Stream the answer; the last event is `AnswerDone`. Closing the stream ends the request.

        Raises Aborted if the signal was set; the connection is closed by then, ModelFailure if the answer is missing or
        incomplete.
        """

    async def close(self) -> None:
        """Close all connections. A later request opens new ones."""


def assistant_message(
    content: Sequence[Block], model: Model, stop_reason: StopReason, at: int, *, error: str | None = None
) -> AssistantMessage:
    """Return a message of `model` with a usage of zero tokens."""
    return AssistantMessage(
        tuple(content), model.api, model.provider, model.id, Usage(), stop_reason, at, error_message=error
    )


async def whole_answer(
    model: Model,
    request: ChatRequest,
    signal: AbortSignal,
    tell: Callable[[BlockEvent], Awaitable[object]] | None = None,
) -> AssistantMessage:
    """Return the answer of a model once it is complete; `tell` is called with each event before."""
    answer: AssistantMessage | None = None
    async with aclosing(model.stream(request, signal)) as stream:
        async for event in stream:
            if isinstance(event, AnswerDone):
                answer = event.message
            elif tell is not None:
                await tell(event)
    if answer is None:
        raise ModelFailure("the model's answer ended before it was complete", transient=True)
    return answer


TOKENS_PER_PRICE = 1_000_000


@value
class Price:
    """Dollars per million tokens. Tokens in the cache cost as much as others, unless they have a price of their own."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


def read_prices(settings: Iterable[tuple[str, Mapping[str, float]]]) -> dict[str, Price]:
    return {name: Price(**given) for name, given in settings}


def price_of(spec: str, prices: Mapping[str, Price]) -> Price | None:
    """Return the price of the model `provider:name`, which may be configured with or without the provider."""
    return prices.get(spec) or prices.get(spec.partition(":")[2])


def cost_of(usage: Usage, price: Price) -> Cost:
    cache_read = price.input if price.cache_read is None else price.cache_read
    cache_write = price.input if price.cache_write is None else price.cache_write
    parts = Cost(
        _dollars(usage.input, price.input),
        _dollars(usage.output, price.output),
        _dollars(usage.cache_read, cache_read),
        _dollars(usage.cache_write, cache_write),
    )
    total = sum(part or 0 for part in (parts.input, parts.output, parts.cache_read, parts.cache_write))
    return replace(parts, total=total)


def _dollars(tokens: int | None, price: float) -> float:
    return (tokens or 0) * price / TOKENS_PER_PRICE


@value
class RetryPolicy:
    """Exponential backoff: up to `attempts` retries after a failed request.

    The delay starts at `base_delay` seconds and doubles each time, unless the provider names one. It is never longer
    than `max_delay` seconds. `jitter` maps a computed delay to the actual one.
    """

    attempts: int = 3
    base_delay: float = 2.0
    max_delay: float = 60.0
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    jitter: Callable[[float], float] = lambda delay: delay

    def allows(self, failure: ModelFailure | None, attempt: int) -> bool:
        return failure is not None and failure.transient and attempt <= self.attempts

    def delay(self, attempt: int, failure: ModelFailure | None = None) -> float:
        """Return the delay before retry number `attempt`, in seconds."""
        if failure is not None and failure.retry_after is not None:
            return min(failure.retry_after, self.max_delay)
        return self.jitter(min(self.base_delay * 2 ** (attempt - 1), self.max_delay))

    async def pause(self, delay: float, signal: AbortSignal | None = None) -> bool:
        """Wait for `delay` seconds; return False if the signal ended the wait early."""
        sleeping = asyncio.ensure_future(self.sleep(delay))
        unsubscribe = signal.on_abort(sleeping.cancel) if signal is not None else None
        try:
            await asyncio.wait({sleeping})
        finally:
            sleeping.cancel()
            if unsubscribe is not None:
                unsubscribe()
        if not sleeping.cancelled():
            sleeping.result()
        return signal is None or not signal.aborted


MAX_WAIT_SECONDS = 30.0
"""After this, the limit is looked at again: it may have been raised."""


class LimitedModel:
    """The model `model`. `take` takes a request, or returns how many milliseconds to wait before it tries again.

    `take` may wait for a store, so it is called in another thread. `tell` is given why a request waits; None when it no
    longer does.
    """

    def __init__(
        self,
        model: Model,
        take: Callable[[], int],
        tell: Callable[[str | None], object],
        pause: RetryPolicy = RetryPolicy(),  # noqa: B008  frozen
    ) -> None:
        self._model, self._take, self._tell, self._pause = model, take, tell, pause

    @property
    def api(self) -> str:
        return self._model.api

    @property
    def provider(self) -> str:
        return self._model.provider

    @property
    def id(self) -> str:
        return self._model.id

    async def stream(
        self, request: ChatRequest, signal: AbortSignal | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        """Wait until the provider may get a request, then stream the answer."""
        await self._wait(signal)
        async with aclosing(self._model.stream(request, signal)) as events:
            async for event in events:
                yield event

    async def close(self) -> None:
        await self._model.close()

    async def _wait(self, signal: AbortSignal | None) -> None:
        is_told = False
        try:
            while milliseconds := await asyncio.to_thread(self._take):
                self._tell(f"waits for the limit of requests to {self.provider}, {milliseconds / 1000:.1f} s")
                is_told = True
                await self._pause.pause(min(milliseconds / 1000, MAX_WAIT_SECONDS), signal)
                if signal is not None:
                    signal.raise_if_aborted()
        finally:
            if is_told:
                self._tell(None)
