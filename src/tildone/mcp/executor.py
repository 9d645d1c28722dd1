"""Blocking work on a thread of its own, one job after the other, while the event loop goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

BLOCKING_WAIT_SECONDS = 0.005
"""For how long `run` blocks the event loop: most jobs take less, and a wake-up by another thread costs as much."""


class SerialExecutor:
    """One thread with a queue. Jobs that have not finished when the process exits are abandoned."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._waiting = 0
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def run(self, job: Callable[[], T]) -> T:
        """Run a job and return its result. A job that is cancelled while queued never starts; later, it finishes."""
        future: Future[T] = Future()
        self._jobs.put((future, job))
        # Behind other jobs it would not start at once, so the loop does not block for it.
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
        """Run a job that nobody waits for. It handles its own errors."""
        self._jobs.put((Future(), job))

    def close(self) -> None:
        """Accept no more jobs."""
        self._jobs.put(None)

    def join(self, timeout: float) -> bool:
        """Wait for the jobs accepted before `close`; whether all have finished."""
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
