"""A model of a provider with a limited rate of requests: each request is taken from that rate before it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from tildone.host.model import ChatRequest, Model
from tildone.host.retry import RetryPolicy
from tildone.host.stream_events import StreamEvent
from tildone.kit.signal import AbortSignal

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
        """Wait until the provider may get a request, then stream the answer.

        Raises:
            Aborted: the signal was set, also while it waited.
            ModelFailure: the answer is missing or incomplete.
        """
        await self._wait(signal)
        async with aclosing(self._model.stream(request, signal)) as events:
            async for event in events:
                yield event

    async def close(self) -> None:
        """Close all connections."""
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
