"""What the operations on leases (`tildone.stores.leasing`) need of a store: rows as values, tables, a transaction."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from tildone.base import UsageError, replace, shortened, value
from tildone.base.json import dump, parse
from tildone.log.kept import Finding
from tildone.log.lease_port import RunLeases
from tildone.log.lease_rules import Moment
from tildone.log.settings import ENGINES, FleetSettings, ProviderLimit, checked_limit, checked_settings
from tildone.log.store import Store
from tildone.plan.claims import lease_mark
from tildone.plan.events import Author, Event
from tildone.plan.lists import BadRow, RunSchedule, WorkerInfo
from tildone.plan.names import is_repository, repository_key
from tildone.plan.runs import (
    Ask,
    Claimer,
    Kept,
    Lease,
    LeaseState,
    NewRun,
    RunFence,
    Work,
    work_from_json,
    work_to_json,
)

Row = dict[str, Any]


WORK_COLUMNS = ("repo", "provider", "labels", "priority", "agent", "model", "allow", "ref", "protocol")
PLAIN_COLUMNS = ("epoch", "attempt", "until", "boot", "not_before", "fails", "losses", "task", "made", "since")
COLUMNS = (
    "run",
    "hand",
    "session",
    "state",
    "sent",
    "owner",
    "ask",
    "questions",
    "refused",
    *PLAIN_COLUMNS,
    *WORK_COLUMNS,
)
"""The columns in the order in which rows are read."""

CHANGING_COLUMNS = tuple(name for name in COLUMNS if name not in ("run", "hand", "session", "made", *WORK_COLUMNS))
"""The columns that differ before and after a change of a lease."""


def lease_row(lease: Lease) -> Row:
    """Return the columns of a lease. Lists are JSON; the session is as it is, and so are labels."""
    row: Row = {"session": lease.session, "made": lease.made}
    row |= {name: getattr(lease.work, name) for name in WORK_COLUMNS}
    # Without a repository, there is no limit of one run for each.
    row |= {"repo": lease.work.repo or None, "allow": dump(list(lease.work.allow))}
    return row | changed_row(lease)


def changed_row(lease: Lease) -> Row:
    """Return the columns of a lease that may have changed, and those that identify it."""
    row: Row = {name: getattr(lease, name) for name in ("run", "hand", "sent", *PLAIN_COLUMNS)}
    row |= {"state": lease.state.value, "ask": lease.ask.value, "owner": lease.owner or None}
    return row | {"questions": dump(list(lease.questions)), "refused": dump(list(lease.refused))}


def lease_in(values: Sequence[Any], from_sql: Callable[[Any], str]) -> Lease | BadRow:
    """Return the lease of the columns of a row. `from_sql` returns the session that a column stands for."""
    row: Row = dict(zip(COLUMNS, values, strict=True))
    work = {name: row[name] for name in WORK_COLUMNS if name not in ("labels", "allow", "repo")}
    if row["owner"] == "":
        # It would be held, but by nobody from whom it could be taken.
        return BadRow("leases", row["run"], "its owner has no name")
    try:
        return Lease(
            row["run"],
            row["hand"],
            from_sql(row["session"]),
            Work(repo=row["repo"] or "", labels=texts_in(row["labels"]), allow=texts_in(row["allow"]), **work),
            LeaseState(row["state"]),
            sent=bool(row["sent"]),
            owner=row["owner"] or "",
            ask=Ask(row["ask"]),
            questions=texts_in(row["questions"]),
            refused=texts_in(row["refused"]),
            **{name: row[name] for name in PLAIN_COLUMNS},
        )
    except (UsageError, ValueError) as error:
        return BadRow("leases", row["run"], str(error))


def texts_in(stored: str | list[str]) -> tuple[str, ...]:
    """Return the texts of a list that is stored as JSON, or as it is.

    Raises:
        ValueError: it is not JSON, or no list of texts.
    """
    texts = parse(stored) if isinstance(stored, str) else stored
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{shortened(str(stored))!r} is no list of texts")
    return tuple(texts)


def remaining(lease: Lease, clock: int) -> int:
    """Return for how many milliseconds a lease is still held."""
    return max(0, lease.until - clock) if lease.is_held else 0


def worker_in(row: Sequence[Any]) -> WorkerInfo | BadRow:
    """Return the worker of the columns of a row."""
    name, host, pid, version, protocol, slots, labels, seen, ask = row
    try:
        return WorkerInfo(name, host, pid, version, protocol, slots, texts_in(labels), seen, Ask(ask))
    except (UsageError, ValueError) as error:
        return BadRow("workers", name, str(error))


def ask_in(stored: str) -> Ask:
    """Return what is asked of a worker. What nobody can ask is nothing."""
    try:
        return Ask(stored)
    except ValueError:
        return Ask.NOTHING


def settings_in(rows: Sequence[Sequence[Any]], scribe: Scribe) -> FleetSettings:
    """Return the settings of a fleet: those of its only row; the default times if others have put some there."""
    for row in rows:
        try:
            return checked_settings(FleetSettings(*row))
        except UsageError as error:
            scribe.on_bad_row(BadRow("fleet", "settings", str(error)))
            *_, engine = row
            return FleetSettings(engine=engine if engine in ENGINES else "")
    return FleetSettings()


def limit_in(row: Sequence[Any]) -> ProviderLimit | BadRow:
    """Return the limits of a provider."""
    try:
        return checked_limit(ProviderLimit(*row))
    except UsageError as error:
        return BadRow("providers", row[0], str(error))


def schedule_row(schedule: RunSchedule) -> dict[str, Any]:
    """Return the columns of a schedule."""
    names = ("name", "cron", "plan", "next", "zone", "last")
    return {name: getattr(schedule, name) for name in names} | {"work": dump(work_to_json(schedule.work))}


def schedule_in(row: Sequence[Any]) -> RunSchedule | BadRow:
    """Return the schedule of the columns of a row."""
    name, cron, plan, following, work, zone, last = row
    try:
        return RunSchedule(name, cron, plan, following, work_from_json(parse(work)), zone, last)
    except (UsageError, ValueError, TypeError) as error:
        return BadRow("schedules", name, str(error))


@value
class Scribe:
    """How events are made: `now` returns milliseconds since 1970, `new_id` an unused id.

    `on_bad_row` is told of each row that is passed over, at each time.
    """

    new_id: Callable[[], str]
    now: Callable[[], int]
    author: Author = Author()
    on_bad_row: Callable[[BadRow], object] = lambda _row: None

    def good(self, rows: Iterable[T | BadRow]) -> list[T]:
        """Return what is not a bad row, and tell of the others."""
        found: list[T] = []
        for row in rows:
            if isinstance(row, BadRow):
                self.on_bad_row(row)
            else:
                found.append(row)
        return found


READER = Scribe(str, int)
"""For those who only read."""


def leases_of(store: Store, scribe: Scribe) -> RunLeases:
    """Return the leases of runs in a store.

    Raises:
        UsageError: the store has none.
    """
    leases: Callable[[Scribe], RunLeases] | None = getattr(store, "leases", None)
    if leases is None:
        raise UsageError("a fleet needs a store in a SQLite file or in a PostgreSQL database")
    return leases(scribe)


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


def with_local_path(new: NewRun) -> NewRun:
    """Return a run with the path of its repository as it is on this machine: that of a folder, without links."""
    path = os.path.expanduser(new.work.repo)
    return replace(new, work=replace(new.work, repo=os.path.realpath(path))) if os.path.isabs(path) else new


def lock_repositories(tables: LeaseTransaction, runs: Iterable[NewRun]) -> None:
    """Let no other transaction name these repositories. In one order, so that no two callers wait for each other."""
    for name in sorted({_lock_name(new.work.repo) for new in runs if new.work.repo}):
        tables.lock(name)


def with_known_repository(tables: LeaseTransaction, new: NewRun) -> NewRun:
    """Return a run that names its repository as the runs before have named it, also those that have ended."""
    repo = new.work.repo
    lock_repositories(tables, [new])
    if not repo or tables.has_repository(repo):
        return new
    known = filter(is_repository, tables.repositories())
    same = (other for other in known if _lock_name(other) == _lock_name(repo))
    return replace(new, work=replace(new.work, repo=next(same, repo)))


def _lock_name(repo: str) -> str:
    return f"repository {repository_key(repo, os.path.realpath)}"
