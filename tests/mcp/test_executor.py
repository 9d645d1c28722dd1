"""The serial executor: jobs run in order, without blocking the event loop, and not once cancelled."""

import asyncio
import threading

import pytest

from tests.mcp.project import TIMEOUT_SECONDS
from tildone.mcp.executor import SerialExecutor


@pytest.fixture
def executor() -> SerialExecutor:
    return SerialExecutor("test executor")


async def test_results_come_in_the_order_of_the_jobs(executor: SerialExecutor) -> None:
    """Although the second one is ready as soon as it is submitted."""
    proceed = threading.Event()
    finished: list[str] = []

    async def first() -> None:
        await executor.run(lambda: proceed.wait(TIMEOUT_SECONDS))
        finished.append("first")

    async def second() -> None:
        proceed.set()
        await executor.run(lambda: None)
        finished.append("second")

    await asyncio.gather(first(), second())

    executor.close()
    assert finished == ["first", "second"]
    assert executor.join(TIMEOUT_SECONDS)


async def test_a_long_job_does_not_block_the_event_loop(executor: SerialExecutor) -> None:
    proceed = threading.Event()
    slow = asyncio.create_task(executor.run(lambda: proceed.wait(TIMEOUT_SECONDS)))

    await asyncio.sleep(0)
    running = not slow.done()
    proceed.set()

    assert (running, await slow) == (True, True)
    executor.close()


async def test_a_job_cancelled_in_the_queue_never_starts(executor: SerialExecutor) -> None:
    proceed = threading.Event()
    done: list[str] = []
    slow = asyncio.create_task(executor.run(lambda: proceed.wait(TIMEOUT_SECONDS)))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(executor.run(lambda: done.append("cancelled")))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    proceed.set()
    await slow

    await executor.run(lambda: done.append("next"))

    executor.close()
    assert done == ["next"]


async def test_an_error_is_raised_where_the_job_was_submitted(executor: SerialExecutor) -> None:
    """A TimeoutError of the job itself is not mistaken for a long job."""
    for error in (ZeroDivisionError, TimeoutError):

        def broken(error: type[Exception] = error) -> None:
            raise error

        with pytest.raises(error):
            await executor.run(broken)

    assert await executor.run(lambda: "continued") == "continued"
    executor.close()


def test_join_tells_whether_all_jobs_have_finished(executor: SerialExecutor) -> None:
    proceed = threading.Event()
    executor.submit(lambda: proceed.wait(TIMEOUT_SECONDS))
    executor.close()

    assert not executor.join(0)
    proceed.set()
    assert executor.join(TIMEOUT_SECONDS)
