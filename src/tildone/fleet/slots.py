"""The slots of a worker: how many runs it works on at once, and which are free."""

from __future__ import annotations

import os
import shutil
from itertools import count
from threading import Condition

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.fleet.running import Execution

MIN_FREE_MB = 1000
"""A worker with less space on its disk takes nothing, unless it was told another amount."""

_MB = 1_000_000


class Slots:
    """Slots, each with an owner: the name under which its next lease is taken.

    A slot keeps its owner until it has a lease, so that a claim whose answer was lost is recognised. `tell` is given a
    line when the disk of the folder `home` has too little space, and when that is over.
    """

    def __init__(
        self, worker: str, slots: int, home: str, min_free_mb: int = MIN_FREE_MB, tell: Callable[[str], object] = str
    ) -> None:
        self._worker, self._home, self._min_free_mb, self._tell = worker, home, min_free_mb, tell
        self._slots, self._is_full = slots, False
        self._numbers = count(1)
        self._free = [self._owner() for _ in range(slots)]
        self._running: dict[str, Execution] = {}
        self._changed = Condition()
        self._closed = False

    @property
    def offered(self) -> int:
        """How many slots the worker offers: none while the disk is nearly full."""
        with self._changed:
            return self._slots if self._has_space() else 0

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
        return bool(self._free) and not self._closed and self._has_space()

    def _has_space(self) -> bool:
        free = free_mb(self._home)
        is_full = free < self._min_free_mb
        if is_full is not self._is_full:
            self._is_full = is_full
            state = "takes no run" if is_full else "takes runs again"
            self._tell(f"the disk of {self._home} has {free:,} MB of space left: the worker {state}")
        return not is_full

    def _owner(self) -> str:
        return f"{self._worker}/{next(self._numbers)}"


def free_mb(folder: str) -> int:
    """Return how much space is left on the disk of a folder, which need not exist yet, in megabytes."""
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return shutil.disk_usage(folder or os.curdir).free // _MB
