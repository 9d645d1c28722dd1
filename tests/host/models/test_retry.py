"""When a model is asked again, and how long that waits."""

import asyncio

import pytest

from tildone.host.model import ModelFailure
from tildone.host.retry import RetryPolicy, with_retries
from tildone.kit.signal import AbortController, Aborted

PASSING = ModelFailure("busy", transient=True)
FINAL = ModelFailure("no", transient=False)


class Asked:
    """Something that fails a few times before it answers."""

    def __init__(self, *failures: ModelFailure) -> None:
        self.failures = list(failures)
        self.times = 0

    async def __call__(self) -> str:
        self.times += 1
        if self.failures:
            raise self.failures.pop(0)
        return "answer"


class Pauses(list[float]):
    """Pauses that are noted instead of made."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


async def test_what_fails_is_asked_again_after_pauses_that_double() -> None:
    asked, pauses = Asked(PASSING, PASSING, PASSING), Pauses()

    assert await with_retries(asked, RetryPolicy(sleep=pauses)) == "answer"

    assert pauses == [2, 4, 8]


async def test_at_some_point_it_is_enough() -> None:
    """Three attempts after the first, as pi counts them."""
    asked, pauses = Asked(*[PASSING] * 9), Pauses()

    with pytest.raises(ModelFailure, match="busy"):
        await with_retries(asked, RetryPolicy(sleep=pauses))

    assert (asked.times, len(pauses)) == (4, 3)


async def test_what_will_not_pass_is_not_asked_again() -> None:
    asked, pauses = Asked(FINAL), Pauses()

    with pytest.raises(ModelFailure, match="no"):
        await with_retries(asked, RetryPolicy(sleep=pauses))

    assert (asked.times, pauses) == (1, [])


async def test_every_retry_is_announced_before_its_pause() -> None:
    told: list[tuple[int, float, str]] = []

    async def sleep(_: float) -> None:
        told.append((0, 0, "pause"))

    asked = Asked(PASSING, ModelFailure("slow down", transient=True, retry_after=9))
    await with_retries(
        asked,
        RetryPolicy(sleep=sleep),
        on_retry=lambda attempt, delay, failure: told.append((attempt, delay, str(failure))),
    )

    assert told == [(1, 2, "busy"), (0, 0, "pause"), (2, 9, "slow down"), (0, 0, "pause")]


@pytest.mark.parametrize(
    ("attempt", "retry_after", "delay"),
    [(1, None, 2), (2, None, 4), (9, None, 60), (1, 0, 0), (1, 30, 30), (3, 1, 1), (1, 3600, 60)],
)
def test_a_pause_is_the_providers_or_ours_and_never_longer_than_a_minute(
    attempt: int, retry_after: float | None, delay: float
) -> None:
    failure = ModelFailure("busy", transient=True, retry_after=retry_after)

    assert RetryPolicy().delay(attempt, failure) == delay


def test_jitter_moves_our_pauses_and_not_the_providers() -> None:
    policy = RetryPolicy(jitter=lambda delay: delay * 1.5)

    assert policy.delay(2) == 6
    assert policy.delay(2, ModelFailure("busy", transient=True, retry_after=9)) == 9


async def test_an_abort_cuts_the_pause() -> None:
    controller, asked = AbortController(), Asked(PASSING, PASSING)

    async def sleep(_: float) -> None:
        asyncio.get_running_loop().call_soon(controller.abort, "enough")
        await asyncio.Event().wait()

    with pytest.raises(Aborted, match="enough"):
        await asyncio.wait_for(with_retries(asked, RetryPolicy(sleep=sleep), signal=controller.signal), 5)

    assert asked.times == 1


async def test_a_pause_says_whether_it_was_made() -> None:
    controller, pauses = AbortController(), Pauses()
    policy = RetryPolicy(sleep=pauses)

    assert await policy.waited(2, controller.signal)
    assert await policy.waited(2)
    controller.abort()
    assert not await policy.waited(2, controller.signal)


async def test_a_pause_that_is_cancelled_is_not_left_behind() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def sleep(_: float) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    pause = asyncio.create_task(RetryPolicy(sleep=sleep).waited(2))
    await started.wait()
    pause.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pause

    await asyncio.wait_for(ended.wait(), 5)


async def test_a_clock_that_breaks_is_heard() -> None:
    async def sleep(_: float) -> None:
        raise OSError("no clock")

    with pytest.raises(OSError, match="no clock"):
        await RetryPolicy(sleep=sleep).waited(2)
