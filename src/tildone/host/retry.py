"""When to ask a model again that failed in a way that may pass."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tildone.host.model import ModelFailure
from tildone.kit.signal import AbortSignal
from tildone.value import value


@value
class RetryPolicy:
    """How patient a host is with a model: `attempts` more requests after one that failed.

    The pause doubles each time, unless the provider named one; it is never longer than `longest` seconds. `jitter`
    turns a doubled pause into the one that is made.
    """

    attempts: int = 3
    base_delay: float = 2.0
    longest: float = 60.0
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    jitter: Callable[[float], float] = lambda delay: delay

    def allows(self, failure: ModelFailure, attempt: int) -> bool:
        """Whether to make attempt number `attempt` (the first is 1) after this failure."""
        return failure.transient and attempt <= self.attempts

    def delay(self, attempt: int, failure: ModelFailure | None = None) -> float:
        """The pause before attempt number `attempt`, in seconds."""
        if failure is not None and failure.retry_after is not None:
            return min(failure.retry_after, self.longest)
        return self.jitter(min(self.base_delay * 2 ** (attempt - 1), self.longest))

    async def waited(self, delay: float, signal: AbortSignal | None = None) -> bool:
        """Make the pause; False when the signal cut it short."""
        pause = asyncio.ensure_future(self.sleep(delay))
        unsubscribe = signal.on_abort(pause.cancel) if signal is not None else None
        try:
            await asyncio.wait({pause})
        finally:
            pause.cancel()
            if unsubscribe is not None:
                unsubscribe()
        if not pause.cancelled():
            pause.result()
        return signal is None or not signal.aborted
