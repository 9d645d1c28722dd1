"""Work that may block, done by a thread in the order it was asked for, while the event loop goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

MOMENT = 0.005
"""For so many seconds the loop itself waits: most work takes less, and to be woken later would take as long again."""


class SerialExecutor:
    """One thread. What is not done when the process ends is let go of."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._waiting = 0
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def do(self, job: Callable[[], T]) -> T:
        """What comes of a job. One that is cancelled before its turn is never begun; afterwards it is finished."""
        promised: Future[T] = Future()
        self._jobs.put((promised, job))
        # Where others wait already it would not be this one's turn, nor should it be done before them.
        if not self._waiting:
            try:
                return promised.result(MOMENT)
            except TimeoutError:
                pass
        self._waiting += 1
        try:
            return await asyncio.wrap_future(promised)
        finally:
            self._waiting -= 1

    def then(self, job: Callable[[], object]) -> None:
        """Do a job that nobody waits for. It deals with its own trouble."""
        self._jobs.put((Future(), job))

    def close(self) -> None:
        """Take no more work."""
        self._jobs.put(None)

    def over(self, patience: float) -> bool:
        """Whether all work is done, after no more than so many seconds."""
        self._thread.join(max(0, patience))
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            promised, work = job
            if not promised.set_running_or_notify_cancel():
                continue
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001  it is raised where the work was asked for
                promised.set_exception(error)
            else:
                promised.set_result(result)
