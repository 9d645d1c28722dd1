"""Blocking work on a separate thread, one job after the other."""

from __future__ import annotations

import threading
from queue import SimpleQueue

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Job = Callable[[], object]


class SerialExecutor:
    """One thread with a queue. Jobs that have not finished when the process exits are abandoned."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Run a job after those submitted before it. It handles its own errors: one that escapes ends the thread."""
        self._jobs.put(job)

    def close(self) -> None:
        """Accept no more jobs."""
        self._jobs.put(None)

    def join(self, timeout: float) -> bool:
        """Wait for the jobs accepted before `close`, and return whether all have finished."""
        self._thread.join(max(0, timeout))
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
