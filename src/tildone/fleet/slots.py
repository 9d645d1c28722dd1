"""The slots of a worker: how many runs it works on at once, and which are free."""

from __future__ import annotations

import os
import shutil
from itertools import count
from threading import Condition

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.fleet.running import Execution

MIN_FREE_BYTES = 1_000_000_000
"""A worker with less space on its disk takes nothing."""


class Slots:
    """Slots, each with an owner: the name under which its next lease is taken.

    A slot keeps its owner until it has a lease, so that a claim whose answer was lost is recognised.
    """

    def __init__(self, worker: str, slots: int, home: str) -> None:
        self._worker, self._home = worker, home
        self._numbers = count(1)
        self._free = [self._owner() for _ in range(slots)]
        self._running: dict[str, Execution] = {}
        self._changed = Condition()
        self._closed = False

    def free(self, seconds: float) -> list[str]:
        """Wait until a slot is free, for a limited time, and return the owners of the free ones.

        While the disk is nearly full, and once the slots are closed, there are none.
        """
        with self._changed:
            if self._changed.wait_for(self._takes, seconds):
                return list(self._free)
            return []

    def fill(self, execution: Execution) -> bool:
        """Put a run into the slot of its owner; return False if that is not free, or if the slots are closed."""
        owner = execution.lease.owner
        with self._changed:
            if self._closed or owner not in self._free:
                return False
            self._free.remove(owner)
            self._running[owner] = execution
            return True

    def empty(self, execution: Execution) -> None:
        """Free the slot of a run that has ended, under the name of another owner."""
        with self._changed:
            del self._running[execution.lease.owner]
            self._free.append(self._owner())
            self._changed.notify_all()

    def close(self) -> None:
        """Let nothing more be taken."""
        with self._changed:
            self._closed = True

    def running(self) -> list[Execution]:
        """Return the runs that are worked on."""
        with self._changed:
            return list(self._running.values())

    def _takes(self) -> bool:
        return bool(self._free) and not self._closed and has_space(self._home)

    def _owner(self) -> str:
        return f"{self._worker}/{next(self._numbers)}"


def has_space(folder: str) -> bool:
    """Return whether there is space on the disk of a folder, which need not exist yet, for the files of a run."""
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return shutil.disk_usage(folder or os.curdir).free >= MIN_FREE_BYTES
