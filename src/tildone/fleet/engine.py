"""What brings queued runs to a worker: a port of a few calls, and the table of leases as its first implementation.

Theory of operation. The leases are the truth; an engine only says which of them is to begin here and now. So an engine
may lose, double, delay or repeat an attempt: one that does not count is not taken, and one that is lost is found by
`missing` and sent again. All that an engine stores can be removed at any time.
"""

from __future__ import annotations

from threading import Event
from typing import Protocol

from tildone.errors import StoreError
from tildone.fleet.essential import EssentialThread
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from threading import Thread

    from tildone.log.fleet.lease import Claimer, Lease
    from tildone.log.fleet.port import RunLeases

    FreeOwners = Callable[[float], Sequence[str]]
    Begin = Callable[[Lease], Thread]
    EngineFor = Callable[[RunLeases, Claimer], "Engine"]

LOOK_SECONDS = 2.0
"""How often a worker looks for runs of which nobody has told it, such as those whose delay has passed."""

RETRY_SECONDS = 0.5
"""The pause after the store has failed."""


class Engine(Protocol):
    """Brings queued runs to workers. Safe to use from several threads."""

    def withdraw(self, lease: Lease) -> None:
        """Drop the attempt before that of a lease."""

    def missing(self) -> list[Lease]:
        """Return the queued leases that the engine has, but whose attempts it has lost. They are to be sent anew."""

    def tidy(self) -> None:
        """Remove what the engine has stored of attempts that no longer count, such as those of runs that have ended."""

    def on_begin(self, free: FreeOwners, begin: Begin) -> None:
        """Begin runs from now on, in threads of the engine.

        `free` waits until the worker has a free slot, for a limited number of seconds, and returns the owners to take
        leases for; none if it takes nothing. `begin` starts the work on a lease that was taken for one of them, and
        returns the thread to wait for.
        """

    def close(self) -> None:
        """Begin nothing more. The runs that have begun go on."""

    def end(self) -> None:
        """Close, and release what the engine uses. Called when no run is left, or none is waited for."""


class TableEngine:
    """The table of leases as the queue: a worker claims what it can run."""

    def __init__(self, leases: RunLeases, who: Claimer) -> None:
        self._leases, self._who = leases, who
        self._closed = Event()

    def withdraw(self, lease: Lease) -> None:
        """Do nothing: the table has one attempt of a lease."""

    def missing(self) -> list[Lease]:
        """Return nothing, for the same reason."""
        return []

    def tidy(self) -> None:
        """Do nothing: the table has no attempts."""

    def on_begin(self, free: FreeOwners, begin: Begin) -> None:
        """Claim leases from now on."""
        EssentialThread("claims", self._claim_all, free, begin).start()

    def close(self) -> None:
        """Claim nothing more."""
        self._closed.set()

    def end(self) -> None:
        """Claim nothing more."""
        self.close()

    def _claim_all(self, free: FreeOwners, begin: Begin) -> None:
        while not self._closed.is_set():
            try:
                self._claim(free, begin)
            except StoreError:
                self._closed.wait(RETRY_SECONDS)

    def _claim(self, free: FreeOwners, begin: Begin) -> None:
        owners = free(LOOK_SECONDS)
        if self._closed.is_set():
            # It was closed while no slot was free.
            return
        revision = self._leases.revision()
        claimed = self._leases.claim(self._who, owners)
        for lease in claimed:
            begin(lease)
        if owners and len(claimed) < len(owners):
            self._leases.wait(revision, LOOK_SECONDS)
