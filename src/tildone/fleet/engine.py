"""What brings queued runs to a worker: a port of a few calls, and the table of leases, on which each engine builds.

Theory of operation. The leases are the truth; an engine only says which of them is to begin here and now. So all that
an engine stores can be lost, doubled or removed at any time.

Its thread is essential, as those of `upkeep` are: without its heartbeat, a worker would take runs and never renew their
leases, and each would be lost, also to the workers that take it over. So a worker that loses such a thread stops, and
gives its runs back.
"""

import threading
from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import Protocol

from tildone.base import StoreError
from tildone.plan.runs import Claimer, Lease
from tildone.stores import StoreAddress
from tildone.stores.leasing import RunLeases

FreeOwners = Callable[[float], Sequence[str]]
Begin = Callable[[Lease], Thread]
EngineFor = Callable[[RunLeases, Claimer], "Engine"]


class EssentialThread(Thread):
    """A daemon thread that is to run as long as its worker."""

    def __init__(self, name: str, target: Callable[..., object], *args: object) -> None:
        super().__init__(target=target, name=name, args=args, daemon=True)


def on_essential_failure(report: Callable[[str], object]) -> None:
    """Call `report` with the name of an essential thread that an unexpected error has ended, in the whole process."""

    def look(args: threading.ExceptHookArgs) -> None:
        threading.__excepthook__(args)
        if isinstance(args.thread, EssentialThread):
            report(args.thread.name)

    threading.excepthook = look


LOOK_SECONDS = 2.0
"""How often a worker looks for runs of which nobody has told it, such as those whose delay has passed."""

RETRY_SECONDS = 0.5
"""The pause after the store has failed."""


class Engine(Protocol):
    """Brings queued runs to workers. Safe to use from several threads."""

    def upkeep(self, lost: Sequence[Lease], *, tidies: bool) -> None:
        """Drop the attempts before those of `lost` leases; if it `tidies`, also all that no longer count."""

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

    def upkeep(self, lost: Sequence[Lease], *, tidies: bool) -> None:
        """Do nothing: the table has one attempt of a lease."""

    def on_begin(self, free: FreeOwners, begin: Begin) -> None:
        EssentialThread("claims", self._claim_all, free, begin).start()

    def close(self) -> None:
        self._closed.set()

    def end(self) -> None:
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


DBOS, TABLE = "dbos", "table"
UP = "tildone fleet up"


def default_engine(store: StoreAddress) -> str:
    """Return the engine of a fleet for which nobody has chosen one."""
    return DBOS if is_server(store) else TABLE


def is_server(store: StoreAddress) -> bool:
    """Return whether a store is a database of a server, for workers of several machines."""
    return store.path is None
