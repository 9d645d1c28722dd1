"""A thread that works for the event loop: in order, without holding it up, and never for nobody."""

import asyncio
import threading

import pytest

from tests.mcp.room import PATIENCE
from tildone.mcp.executor import SerialExecutor


@pytest.fixture
def executor() -> SerialExecutor:
    return SerialExecutor("test executor")


async def test_what_was_asked_first_is_answered_first(executor: SerialExecutor) -> None:
    """Although the second could be had at once by the time it is asked for."""
    go_on = threading.Event()
    answered: list[str] = []

    async def first() -> None:
        await executor.run(lambda: go_on.wait(PATIENCE))
        answered.append("first")

    async def second() -> None:
        go_on.set()
        await executor.run(lambda: None)
        answered.append("second")

    await asyncio.gather(first(), second())

    executor.close()
    assert answered == ["first", "second"]
    assert executor.join(PATIENCE)


async def test_work_that_takes_long_lets_the_loop_go_on(executor: SerialExecutor) -> None:
    go_on = threading.Event()
    slow = asyncio.create_task(executor.run(lambda: go_on.wait(PATIENCE)))

    await asyncio.sleep(0)
    under_way = not slow.done()
    go_on.set()

    assert (under_way, await slow) == (True, True)
    executor.close()


async def test_work_that_was_cancelled_before_its_turn_is_never_begun(executor: SerialExecutor) -> None:
    go_on = threading.Event()
    done: list[str] = []
    slow = asyncio.create_task(executor.run(lambda: go_on.wait(PATIENCE)))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(executor.run(lambda: done.append("cancelled")))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    go_on.set()
    await slow

    await executor.run(lambda: done.append("next"))

    executor.close()
    assert done == ["next"]


async def test_what_goes_wrong_is_raised_where_it_was_asked_for(executor: SerialExecutor) -> None:
    """A timeout of the work's own is no sign that it takes long."""
    for error in (ZeroDivisionError, TimeoutError):

        def broken(error: type[Exception] = error) -> None:
            raise error

        with pytest.raises(error):
            await executor.run(broken)

    assert await executor.run(lambda: "went on") == "went on"
    executor.close()


def test_whoever_is_still_at_work_is_not_over(executor: SerialExecutor) -> None:
    go_on = threading.Event()
    executor.submit(lambda: go_on.wait(PATIENCE))
    executor.close()

    assert not executor.join(0)
    go_on.set()
    assert executor.join(PATIENCE)
