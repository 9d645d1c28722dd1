"""When a request is retried, and after which delay."""

import asyncio

import pytest

from tildone.run.kit.definition import AbortController
from tildone.run.model import ModelFailure, RetryPolicy

PASSING = ModelFailure("busy", transient=True)
FINAL = ModelFailure("no", transient=False)


class Pauses(list[float]):
    """Records the pauses instead of sleeping."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


def test_a_transient_failure_is_retried_three_times() -> None:
    """The first request does not count, as in pi; other failures are not retried."""
    policy = RetryPolicy()

    assert [policy.allows(PASSING, attempt) for attempt in (1, 3, 4)] == [True, True, False]
    assert not policy.allows(FINAL, 1)


@pytest.mark.parametrize(
    ("attempt", "retry_after", "delay"),
    [(1, None, 2), (2, None, 4), (9, None, 60), (1, 0, 0), (1, 30, 30), (3, 1, 1), (1, 3600, 60)],
)
def test_the_delay_is_at_most_a_minute(attempt: int, retry_after: float | None, delay: float) -> None:
    failure = ModelFailure("busy", transient=True, retry_after=retry_after)

    assert RetryPolicy().delay(attempt, failure) == delay


def test_jitter_applies_only_to_computed_delays() -> None:
    policy = RetryPolicy(jitter=lambda delay: delay * 1.5)

    assert policy.delay(2) == 6
    assert policy.delay(2, ModelFailure("busy", transient=True, retry_after=9)) == 9


async def test_an_abort_ends_the_pause() -> None:
    controller = AbortController()

    async def sleep(_: float) -> None:
        asyncio.get_running_loop().call_soon(controller.abort, "enough")
        await asyncio.Event().wait()

    assert not await asyncio.wait_for(RetryPolicy(sleep=sleep).pause(60, controller.signal), 5)


async def test_a_pause_returns_whether_it_was_complete() -> None:
    controller, pauses = AbortController(), Pauses()
    policy = RetryPolicy(sleep=pauses)

    assert await policy.pause(2, controller.signal)
    assert await policy.pause(2)
    controller.abort()
    assert not await policy.pause(2, controller.signal)


async def test_a_cancelled_pause_cancels_its_sleep() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def sleep(_: float) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    pause = asyncio.create_task(RetryPolicy(sleep=sleep).pause(2))
    await started.wait()
    pause.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pause

    await asyncio.wait_for(ended.wait(), 5)


async def test_an_error_of_the_clock_is_raised() -> None:
    async def sleep(_: float) -> None:
        raise OSError("no clock")

    with pytest.raises(OSError, match="no clock"):
        await RetryPolicy(sleep=sleep).pause(2)
