"""A thread that works for the event loop: in order, without holding it up, and never for nobody."""

import asyncio
import threading

import pytest

from tests.mcp.room import PATIENCE
from tildone.mcp.executor import SerialExecutor


@pytest.fixture
def worker() -> SerialExecutor:
    return SerialExecutor("test worker")


async def test_what_was_asked_first_is_answered_first(worker: SerialExecutor) -> None:
    """Although the second could be had at once by the time it is asked for."""
    go_on = threading.Event()
    answered: list[str] = []

    async def first() -> None:
        await worker.do(lambda: go_on.wait(PATIENCE))
        answered.append("first")

    async def second() -> None:
        go_on.set()
        await worker.do(lambda: None)
        answered.append("second")

    await asyncio.gather(first(), second())

    worker.close()
    assert answered == ["first", "second"]
    assert worker.over(PATIENCE)


async def test_work_that_takes_long_lets_the_loop_go_on(worker: SerialExecutor) -> None:
    go_on = threading.Event()
    slow = asyncio.create_task(worker.do(lambda: go_on.wait(PATIENCE)))

    await asyncio.sleep(0)
    under_way = not slow.done()
    go_on.set()

    assert (under_way, await slow) == (True, True)
    worker.close()


async def test_work_that_was_cancelled_before_its_turn_is_never_begun(worker: SerialExecutor) -> None:
    go_on = threading.Event()
    done: list[str] = []
    slow = asyncio.create_task(worker.do(lambda: go_on.wait(PATIENCE)))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(worker.do(lambda: done.append("cancelled")))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    go_on.set()
    await slow

    await worker.do(lambda: done.append("next"))

    worker.close()
    assert done == ["next"]


async def test_what_goes_wrong_is_raised_where_it_was_asked_for(worker: SerialExecutor) -> None:
    """A timeout of the work's own is no sign that it takes long."""
    for error in (ZeroDivisionError, TimeoutError):

        def broken(error: type[Exception] = error) -> None:
            raise error

        with pytest.raises(error):
            await worker.do(broken)

    assert await worker.do(lambda: "went on") == "went on"
    worker.close()


def test_whoever_is_still_at_work_is_not_over(worker: SerialExecutor) -> None:
    go_on = threading.Event()
    worker.then(lambda: go_on.wait(PATIENCE))
    worker.close()

    assert not worker.over(0)
    go_on.set()
    assert worker.over(PATIENCE)
