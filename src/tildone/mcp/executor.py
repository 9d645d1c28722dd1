"""Blocking work on a separate thread, one job after the other, while the event loop continues to run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

BLOCKING_WAIT_SECONDS = 0.005
"""How long `run` blocks the event loop. Most jobs take less, and waking the loop from a thread costs about as much."""


class SerialExecutor:
    """One thread with a queue. Jobs that have not finished when the process exits are abandoned."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._waiting = 0
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def run(self, job: Callable[[], T]) -> T:
        """Run a job and return its result. A job cancelled while queued never starts; a running one finishes."""
        future: Future[T] = Future()
        self._jobs.put((future, job))
        # A job that is queued behind others does not start at once, so the loop does not block for it.
        if not self._waiting:
            try:
                return future.result(BLOCKING_WAIT_SECONDS)
            except TimeoutError:
                pass
        self._waiting += 1
        try:
            return await asyncio.wrap_future(future)
        finally:
            self._waiting -= 1

    def submit(self, job: Callable[[], object]) -> None:
        """Run a job without waiting for it. The job handles its own errors."""
        self._jobs.put((Future(), job))

    def close(self) -> None:
        """Accept no more jobs."""
        self._jobs.put(None)

    def join(self, timeout: float) -> bool:
        """Wait for the jobs accepted before `close`, and return whether all have finished."""
        self._thread.join(max(0, timeout))
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (queued := self._jobs.get()) is not None:
            future, job = queued
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = job()
            except BaseException as error:  # noqa: BLE001  it is raised where the job was submitted
                future.set_exception(error)
            else:
                future.set_result(result)
