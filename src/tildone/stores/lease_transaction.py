"""`LeaseTables` and `LeaseTransaction`: what the operations on leases need of a store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from tildone.log.claims import lease_mark
from tildone.log.events import Event
from tildone.log.findings import Finding
from tildone.log.fleet.facts import Kept
from tildone.log.fleet.lease import Claimer, Lease, RunFence
from tildone.log.fleet.rules import Moment
from tildone.log.fleet.settings import FleetSettings
from tildone.log.fleet.workers import BadRow, RunSchedule
from tildone.stores.fleet_rows import settings_in
from tildone.stores.lease_rows import changed_row, lease_row
from tildone.stores.schedule_rows import schedule_in, schedule_row
from tildone.stores.scribe import Scribe

T = TypeVar("T")


class LeaseTransaction(Protocol):
    """A transaction on leases and on the log. Leases that are read stay locked until it ends.

    A store implements what has no body here. Bad rows are passed over, and `scribe` is told of them. Where one would be
    in the way of others, it is set aside first: the run has failed.
    """

    scribe: Scribe

    def rows(self, statement: str, /, **row: Any) -> Sequence[Sequence[Any]]:
        """Return the rows of a statement of that name."""

    def execute(self, statement: str, /, **row: Any) -> None:
        """Run a statement that returns nothing."""

    def kept(self, rows: Sequence[Sequence[Any]]) -> list[Lease]:
        """Return the leases of rows."""

    def key(self, session: str) -> Any:
        """Return the column of a session."""

    def session(self, stored: Any) -> str:
        """Return the session of a column."""

    def texts(self, texts: Sequence[str]) -> Any:
        """Return a list of texts as a parameter."""

    @property
    def at(self) -> Moment:
        """The time at which it began."""

    def lock(self, name: str) -> None:
        """Let no other transaction lock that name until this one ends."""

    def settings(self) -> FleetSettings:
        """Return the settings of the fleet."""
        return settings_in(self.rows("fleet_settings"), self.scribe)

    def leases(self, run: str) -> list[Lease]:
        """Return the leases of a run, by hand."""
        return self.kept(self.rows("leases", run=run))

    def lease(self, run: str, hand: int) -> Lease | None:
        """Return the lease of a hand."""
        return next(iter(self.kept(self.rows("lease", run=run, hand=hand))), None)

    def session_of(self, run: str) -> str | None:
        """Return the session of a run, without a lock."""
        return next((self.session(session) for (session,) in self.rows("session_of_run", run=run)), None)

    def active(self, session: str) -> set[str]:
        """Return the runs of a session that have not ended, without a lock."""
        return {run for (run,) in self.rows("active_runs", session=self.key(session))}

    def owned(self, owners: Sequence[str]) -> list[Lease]:
        """Return the leases that owners have."""
        return self.kept(self.rows("owned_leases", owners=self.texts(owners)))

    def takeable(self, who: Claimer, run: str, hand: int) -> Lease | None:
        """Return the lease of a hand if it is queued and a worker may take it. Its limits may be unchecked."""

    def claimable(self, who: Claimer, most: int, *, unsent: bool = False) -> list[Lease]:
        """Return the first leases that a worker may take, at least one if there are any, at most `most`.

        With `unsent`, they are such that no engine has, and what an engine has counts for the limits. Their limits may
        not have been checked together.
        """

    def within_limits(self, leases: Sequence[Lease], *, sent: bool = False) -> list[Lease]:
        """Return those of queued leases that limits permit to be held together, in their order.

        Until the transaction ends, no other one takes what they leave. With `sent`, what an engine has counts as held.
        """

    def lapsed(self, settings: FleetSettings, *, by_time: bool) -> tuple[Lease, str] | None:
        """Return a lease that has lapsed, and why."""

    def insert(self, lease: Lease) -> None:
        """Add a lease."""
        row = {"session": self.key(lease.session), "labels": self.texts(lease.work.labels)}
        self.execute("insert_lease", **lease_row(lease) | row)

    def update(self, lease: Lease) -> None:
        """Change a lease."""
        self.execute("update_lease", **changed_row(lease))

    def mark_sent(self, leases: Sequence[Lease]) -> None:
        """Record that an engine has leases."""

    def head(self, session: str) -> str | None:
        """Return the head of a session."""

    def has_event(self, session: str, event: str) -> bool:
        """Return whether a session has an event."""

    def append(self, session: str, event: Event) -> None:
        """Append an event to the head. The redo stack stays, unless the event contains a plan."""

    def lapse_claims(self, session: str, lease: str) -> None:
        """End the claims of tasks that agents have under a lease, given as `run/hand`."""
        self.execute("lapse_claims", session=self.key(session), mark=lease_mark(lease))

    def task(self, session: str) -> int:
        """Return the number of the task to work on; 0 if there is none."""

    def announce(self) -> None:
        """Tell those who wait that leases may be free, or that a stop was requested."""
        self.execute("announce")

    def has_repository(self, repo: str) -> bool:
        """Return whether a lease, of whatever state, has a repository of exactly that name."""
        return bool(self.rows("has_repository", repo=repo))

    def repositories(self) -> list[str]:
        """Return the names of the repositories of all leases, each once."""
        return [repo for (repo,) in self.rows("repositories")]

    def requests(self, provider: str) -> tuple[int, int]:
        """Return how many requests a minute a provider may get, and when the next would be at equal intervals."""
        return next(((requests, earliest) for requests, earliest in self.rows("requests", name=provider)), (0, 0))

    def set_next_request(self, provider: str, earliest: int) -> None:
        """Set when the next request would be at equal intervals."""
        self.execute("set_next_request", name=provider, earliest=earliest)

    def due(self) -> RunSchedule | None:
        """Return a schedule that is due."""
        while rows := self.rows("due", now=self.at.now):
            schedule = schedule_in(rows[0])
            if not isinstance(schedule, BadRow):
                return schedule
            self.scribe.on_bad_row(schedule)
            self.execute("set_schedule_aside", name=schedule.name)
        return None

    def put_schedule(self, schedule: RunSchedule) -> None:
        """Add or replace a schedule."""
        self.execute("set_schedule", **schedule_row(schedule))


class LeaseTables(Protocol):
    """The tables of leases, workers, schedules and limits in a store, by named statements.

    Statements have the same names and parameters in every store; one that does not need a parameter ignores it.
    """

    def change(self, work: Callable[[LeaseTransaction], T]) -> T:
        """Do the work in a transaction, and return its result."""

    def rows(self, statement: str, /, **row: Any) -> Sequence[Sequence[Any]]:
        """Return the rows of a statement."""

    def write(self, statement: str, /, **row: Any) -> int:
        """Run a statement that changes rows, tell those who wait, and return how many rows it changed."""

    def timed_rows(self, statement: str, /, **row: Any) -> Sequence[tuple[Sequence[Any], int]]:
        """Return the rows of a statement on leases, each with the time by the clock that measures leases."""

    def rows_of_sessions(self, sessions: Sequence[str]) -> Sequence[tuple[Sequence[Any], int]]:
        """Return the rows of the leases of some sessions, with the time, in no particular order."""

    def renew(self, held: Sequence[RunFence], lease: int) -> Sequence[tuple[str, int, int, str]]:
        """Renew leases for so many milliseconds; return run, hand, epoch and what is asked of those that are held."""

    def beat(self, row: dict[str, Any], labels: Sequence[str]) -> str:
        """Record a sign of life of a worker, and return what is asked of it."""

    def append(self, held: RunFence, fact: Kept, event: str) -> bool:
        """Append a fact that leaves its lease as it is; return False if that needs a transaction.

        Raises:
            RunFenced: the lease is no longer held.
        """

    def session(self, stored: Any) -> str:
        """Return the name of a session from its column."""

    def now(self) -> int:
        """Return the time by the clock of signs of life, in milliseconds since 1970."""

    def size(self) -> int:
        """Return how many bytes the store takes up on disk."""

    def wait(self, is_reached: Callable[[], bool], timeout: float) -> bool:
        """Wait until `is_reached` returns True. Return False if `timeout` seconds passed first."""

    def findings(self) -> list[Finding]:
        """Check what workers need of the store."""
