"""The policy for retrying failed requests to a model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tildone.host.model import ModelFailure
from tildone.kit.signal import AbortSignal
from tildone.value import value


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

    def allows(self, failure: ModelFailure, attempt: int) -> bool:
        """Return whether to make retry number `attempt` (the first is 1) after this failure."""
        return failure.transient and attempt <= self.attempts

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
