"""Leases on both kinds of store, on which a test can let time pass, for tests."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from tests.plans import plan_of
from tests.stores.postgres import execute
from tildone.base import replace
from tildone.log.lease_rules import Moment
from tildone.log.store import Store
from tildone.plan.events import Event, PlanChanged
from tildone.plan.lists import BadRow
from tildone.plan.runs import (
    Answered,
    Asked,
    Claimer,
    Kept,
    Lease,
    NewRun,
    RunEnded,
    RunFact,
    RunFence,
    RunLost,
    RunQueued,
    RunReleased,
    RunTaken,
    Work,
)
from tildone.stores.leasing import LeaseTransaction, Recorder, RunLeases
from tildone.stores.postgres.store import PostgresStore
from tildone.stores.sqlite.leases import Machine
from tildone.stores.sqlite.store import SqliteStore

HOST = "here"
START = 1_000_000
WALL = 1_800_000_000_000
LONG = 10**9
HOUR = 3_600_000

FACTS = (RunQueued, RunTaken, RunLost, RunReleased, RunEnded, Asked, Answered, Kept)


@dataclass
class Clock:
    """The time of a machine, which passes when a test says so, and which of its processes have ended."""

    time: int = START
    boot: str = "boot-1/pid:1"
    ended: set[int] = field(default_factory=set)

    def moment(self) -> Moment:
        return Moment(self.time, WALL + self.time, self.boot)

    def is_alive(self, pid: int) -> bool:
        return pid not in self.ended


@dataclass
class Fleet:
    """A store, its leases, and how its time passes. `reopened` opens the store with a fence."""

    store: Store
    leases: RunLeases
    passes: Callable[[int], None]
    reopened: Callable[[RunFence], Store]
    clock: Clock
    bad_rows: list[BadRow] = field(default_factory=list)

    def add(self, run: str = "r1", session: str = "", hands: int = 1, **work: object) -> list[Lease]:
        self.clock.time += 1
        new = NewRun(run, session or f"plan of {run}", Work(**work), hands)  # type: ignore[arg-type]  # as given
        return self.leases.add(new, [PlanChanged(plan_of("one", "two"))])

    def claim(self, worker: str = "here/1/a", slots: int = 1, labels: tuple[str, ...] = ()) -> list[Lease]:
        """Claim as a worker with that many executions."""
        return self.leases.claim(Claimer(worker, labels), [f"{worker}/{slot}" for slot in range(slots)])

    def held(self, run: str = "r1", **work: object) -> Lease:
        self.add(run, **work)  # type: ignore[arg-type]  # as given
        return take(self.leases, f"here/1/{run}/0", run)

    def lease(self, run: str = "r1", hand: int = 0) -> Lease:
        [lease] = [view.lease for view in self.leases.look(run) if view.lease.hand == hand]
        return lease

    def facts(self, run: str = "r1") -> list[RunFact]:
        """Return what the log of a run's plan tells of runs."""
        return [fact for event in self.events(run) if isinstance(fact := event.fact, FACTS)]

    def events(self, run: str = "r1") -> Iterator[Event]:
        return self.store.events(self.lease(run).session)


def take(leases: RunLeases, owner: str, run: str, hand: int = 0) -> Lease:
    """Take a queued lease for an owner, whatever is queued before it."""

    def work(tables: LeaseTransaction) -> Lease:
        lease = tables.lease(run, hand)
        assert lease is not None
        assert lease.is_queued
        return leases._taken(tables, lease, Claimer(owner.rpartition("/")[0]), owner)  # noqa: SLF001  not the first one

    return leases.tables.change(work)


def recorder() -> Recorder:
    """Return what makes events with ids in their order."""
    numbers = count()
    return Recorder(lambda: f"e{next(numbers):06}", lambda: WALL)


def names(facts: list[RunFact]) -> list[str]:
    return [type(fact).__name__ for fact in facts]


@contextmanager
def fleet_on_sqlite(folder: Path) -> Iterator[Fleet]:
    clock = Clock()
    with ExitStack() as stack:

        def opened(fence: RunFence | None = None) -> SqliteStore:
            store = SqliteStore(folder / "plans.db", fence=fence)
            stack.callback(store.close)
            return store

        def passes(milliseconds: int) -> None:
            clock.time += milliseconds

        store = opened()
        bad_rows: list[BadRow] = []
        writer = replace(recorder(), on_bad_row=bad_rows.append)
        leases = store.leases(writer, Machine(clock.moment, HOST, clock.is_alive))
        yield Fleet(store, leases, passes, opened, clock, bad_rows)


@contextmanager
def fleet_on_postgres(url: str) -> Iterator[Fleet]:
    """Open leases in a PostgreSQL store, on a server that seems to have been started long ago."""
    clock = execute(url, "SELECT pg_get_functiondef('tildone.clock'::regproc)")[0][0]
    passed = 0

    def passes(milliseconds: int) -> None:
        nonlocal passed
        passed += milliseconds
        execute(url, clock.replace("SELECT ", f"SELECT {passed} + ", 1))

    with ExitStack() as stack:
        stack.callback(execute, url, clock)
        passes(HOUR)

        def opened(fence: RunFence | None = None) -> PostgresStore:
            store = PostgresStore(url, fence=fence)
            stack.callback(store.close)
            return store

        store = opened()
        bad_rows: list[BadRow] = []
        leases = store.leases(replace(recorder(), on_bad_row=bad_rows.append))
        yield Fleet(store, leases, passes, opened, Clock(), bad_rows)
