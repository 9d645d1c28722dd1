"""The serial executor: jobs run in order, one after the other."""

import threading

import pytest

from tests.mcp.project import TIMEOUT_SECONDS
from tildone.agents.mcp.json_rpc import SerialExecutor


@pytest.fixture
def executor() -> SerialExecutor:
    return SerialExecutor("test executor")


def test_jobs_run_one_after_the_other(executor: SerialExecutor) -> None:
    """Although the second one could run at once."""
    proceed = threading.Event()
    done: list[object] = []
    executor.submit(lambda: done.append(proceed.wait(TIMEOUT_SECONDS)))
    executor.submit(lambda: done.append("second"))
    before = list(done)

    proceed.set()
    executor.close()

    assert (before, executor.join(TIMEOUT_SECONDS), done) == ([], True, [True, "second"])


def test_join_tells_whether_all_jobs_have_finished(executor: SerialExecutor) -> None:
    proceed = threading.Event()
    executor.submit(lambda: proceed.wait(TIMEOUT_SECONDS))
    executor.close()

    assert not executor.join(0)
    proceed.set()
    assert executor.join(TIMEOUT_SECONDS)
