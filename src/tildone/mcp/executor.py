"""Blocking work on a separate thread, one job after the other.

A job that takes long, such as one that runs the check of a task, hands over: another thread carries out the jobs that
follow, and its own ends with it.
"""

from __future__ import annotations

import threading
from queue import SimpleQueue
from time import monotonic

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Job = Callable[[], object]


class SerialExecutor:
    """One thread with a queue. Jobs that have not finished when the process exits are abandoned."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._left: list[threading.Thread] = []
        self._thread = self._begin()
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Run a job after those submitted before it. It handles its own errors: one that escapes ends the thread."""
        self._jobs.put(job)

    def hand_over(self) -> None:
        """Let another thread carry out the jobs that follow the one that calls this."""
        if threading.current_thread() is not self._thread:
            return
        self._left = [*(thread for thread in self._left if thread.is_alive()), self._thread]
        self._thread = self._begin()
        self._thread.start()

    def close(self) -> None:
        """Accept no more jobs."""
        self._jobs.put(None)

    def join(self, timeout: float) -> bool:
        """Wait for the jobs accepted before `close`, and return whether all have finished."""
        deadline = monotonic() + timeout
        threads = (self._thread, *self._left)
        for thread in threads:
            thread.join(max(0, deadline - monotonic()))
        return not any(thread.is_alive() for thread in threads)

    def _begin(self) -> threading.Thread:
        return threading.Thread(target=self._work, name=self._name, daemon=True)

    def _work(self) -> None:
        while threading.current_thread() is self._thread and (job := self._jobs.get()) is not None:
            job()
