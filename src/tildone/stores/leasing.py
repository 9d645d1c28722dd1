"""The leases of runs in a store: what is read, decided and written in one transaction is the same in every store.

A store implements `LeaseTables` and `LeaseTransaction`. Whoever locks several things locks them in this order: the name
of a session or of a worker, leases, limits, the session. Whoever chooses among queued leases waits for none of them. So
operations that meet wait for each other, but never in a circle. If a store repeats a transaction whose answer was lost,
the second one finds what the first one did.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from tildone.base import NotFound, Refused, RunFenced, StoreDamaged, UsageError, replace, shortened, value
from tildone.base.json import dump, parse
from tildone.log import lease_rules as rules
from tildone.log.cron import parse_cron
from tildone.log.kept import Finding
from tildone.log.lease_rules import Moment, Step, leases_in
from tildone.log.settings import (
    ENGINES,
    MINUTE_MS,
    FleetSettings,
    ProviderLimit,
    checked_limit,
    checked_settings,
    request_at,
)
from tildone.log.store import Store
from tildone.plan.claims import lease_mark
from tildone.plan.codec import parse_strictly, plan_from_json
from tildone.plan.events import Actor, AgentUsage, Author, Event, Fact, PlanChanged, SessionInfo
from tildone.plan.lists import BadRow, RunGroup, RunPlace, RunSchedule, RunView, WorkerInfo
from tildone.plan.names import MAX_NAME, check_text, is_repository, repository_key
from tildone.plan.runs import (
    AgentEnded,
    Asked,
    Claimer,
    CommandRefused,
    Kept,
    Lease,
    LeaseRequest,
    LeaseState,
    NewRun,
    Published,
    Renewed,
    RunFence,
    Work,
    WorkOutcome,
    checked_run,
    work_from_json,
    work_to_json,
)

P = ParamSpec("P")
T = TypeVar("T")
Row = dict[str, Any]

STATES = [state.value for state in LeaseState]

NextTime = Callable[[RunSchedule, int], int]
"""Returns when a schedule is next due after a time. Times are in milliseconds since 1970."""

MAX_SINGLE_SESSIONS = 20
"""Up to how many sessions are read one by one, instead of the list of all."""

MAX_REAPED = 50
"""How many leases one call of `reap` takes at most."""

UNIQUE_LENGTH = 6
"""How many characters of an id make the run of a schedule unique."""

WORK_COLUMNS = ("repo", "provider", "labels", "priority", "agent", "model", "allow", "ref", "protocol")
PLAIN_COLUMNS = ("epoch", "attempt", "until", "boot", "not_before", "fails", "losses", "task", "made", "since")
COLUMNS = (
    "run",
    "hand",
    "session",
    "state",
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
    row: Row = {name: getattr(lease, name) for name in ("run", "hand", *PLAIN_COLUMNS)}
    row |= {"state": lease.state.value, "ask": lease.request.value, "owner": lease.owner or None}
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
            owner=row["owner"] or "",
            request=LeaseRequest(row["ask"]),
            questions=texts_in(row["questions"]),
            refused=texts_in(row["refused"]),
            **{name: row[name] for name in PLAIN_COLUMNS},
        )
    except (UsageError, ValueError) as error:
        return BadRow("leases", row["run"], str(error))


def texts_in(stored: str | list[str]) -> tuple[str, ...]:
    """Return the texts of a list that is stored as JSON, or as it is. Raises ValueError if it is neither."""
    texts = parse(stored) if isinstance(stored, str) else stored
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{shortened(str(stored))!r} is no list of texts")
    return tuple(texts)


def remaining(lease: Lease, clock: int) -> int:
    return max(0, lease.until - clock) if lease.is_held else 0


def worker_in(row: Sequence[Any]) -> WorkerInfo | BadRow:
    name, host, pid, version, protocol, slots, labels, seen, ask = row
    try:
        return WorkerInfo(name, host, pid, version, protocol, slots, texts_in(labels), seen, LeaseRequest(ask))
    except (UsageError, ValueError) as error:
        return BadRow("workers", name, str(error))


def ask_in(stored: str) -> LeaseRequest:
    """Return what is asked of a worker. What nobody can ask is nothing."""
    try:
        return LeaseRequest(stored)
    except ValueError:
        return LeaseRequest.NOTHING


def settings_in(rows: Sequence[Sequence[Any]], recorder: Recorder) -> FleetSettings:
    """Return the settings of a fleet: those of its only row; the default times if others have put some there."""
    for row in rows:
        try:
            return checked_settings(FleetSettings(*row))
        except UsageError as error:
            recorder.on_bad_row(BadRow("fleet", "settings", str(error)))
            *_, engine = row
            return FleetSettings(engine=engine if engine in ENGINES else "")
    return FleetSettings()


def limit_in(row: Sequence[Any]) -> ProviderLimit | BadRow:
    try:
        return checked_limit(ProviderLimit(*row))
    except UsageError as error:
        return BadRow("providers", row[0], str(error))


def schedule_row(schedule: RunSchedule) -> dict[str, Any]:
    names = ("name", "cron", "plan", "next", "zone", "last")
    return {name: getattr(schedule, name) for name in names} | {"work": dump(work_to_json(schedule.work))}


def schedule_in(row: Sequence[Any]) -> RunSchedule | BadRow:
    name, cron, plan, following, work, zone, last = row
    try:
        return RunSchedule(name, cron, plan, following, work_from_json(parse(work)), zone, last)
    except (UsageError, ValueError, TypeError) as error:
        return BadRow("schedules", name, str(error))


@value
class Recorder:
    """How events are made: `now` returns milliseconds since 1970, `new_id` an unused id.

    `on_bad_row` is told of each row that is passed over, at each time.
    """

    new_id: Callable[[], str]
    now: Callable[[], int]
    author: Author = Author()
    on_bad_row: Callable[[BadRow], object] = lambda _row: None

    def good(self, rows: Iterable[T | BadRow]) -> list[T]:
        found: list[T] = []
        for row in rows:
            if isinstance(row, BadRow):
                self.on_bad_row(row)
            else:
                found.append(row)
        return found


READER = Recorder(str, int)
"""For those who only read."""


class LeaseTransaction(Protocol):
    """A transaction on leases and on the log. Leases that are read stay locked until it ends.

    A store implements what has no body here. Bad rows are passed over, and `recorder` is told of them. Where one would
    be in the way of others, it is set aside first: the run has failed.
    """

    recorder: Recorder

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
        return settings_in(self.rows("fleet_settings"), self.recorder)

    def leases(self, run: str) -> list[Lease]:
        return self.kept(self.rows("leases", run=run))

    def lease(self, run: str, hand: int) -> Lease | None:
        return next(iter(self.kept(self.rows("lease", run=run, hand=hand))), None)

    def session_of(self, run: str) -> str | None:
        """Return the session of a run, without a lock."""
        return next((self.session(session) for (session,) in self.rows("session_of_run", run=run)), None)

    def active(self, session: str) -> set[str]:
        """Return the runs of a session that have not ended, without a lock."""
        return {run for (run,) in self.rows("active_runs", session=self.key(session))}

    def owned(self, owners: Sequence[str]) -> list[Lease]:
        return self.kept(self.rows("owned_leases", owners=self.texts(owners)))

    def claimable(self, who: Claimer, most: int) -> list[Lease]:
        """Return the first leases that a worker may take, at least one if there are any, at most `most`.

        Their limits may not have been checked together.
        """

    def within_limits(self, leases: Sequence[Lease]) -> list[Lease]:
        """Return those of queued leases that limits permit to be held together, in their order.

        Until the transaction ends, no other one takes what they leave.
        """

    def lapsed(self, settings: FleetSettings, *, by_time: bool) -> tuple[Lease, str] | None:
        """Return a lease that has lapsed, and why."""

    def insert(self, lease: Lease) -> None:
        row = {"session": self.key(lease.session), "labels": self.texts(lease.work.labels)}
        self.execute("insert_lease", **lease_row(lease) | row)

    def update(self, lease: Lease) -> None:
        self.execute("update_lease", **changed_row(lease))

    def head(self, session: str) -> str | None:
        """Return the head of a session."""

    def has_event(self, session: str, event: str) -> bool:
        """Return whether a session has an event."""

    def append(self, session: str, event: Event) -> None:
        """Append an event to the head. The redo stack stays, unless the event contains a plan."""

    def task(self, session: str) -> int:
        """Return the number of the task to work on; 0 if there is none."""

    def announce(self) -> None:
        self.execute("announce")

    def due(self) -> RunSchedule | None:
        while rows := self.rows("due", now=self.at.now):
            schedule = schedule_in(rows[0])
            if not isinstance(schedule, BadRow):
                return schedule
            self.recorder.on_bad_row(schedule)
            self.execute("set_schedule_aside", name=schedule.name)
        return None

    def put_schedule(self, schedule: RunSchedule) -> None:
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

    def append(self, held: RunFence, fact: Kept | CommandRefused, event: str) -> bool:
        """Append a fact that leaves its lease as it is; return False if that needs a transaction.

        Raises RunFenced if the lease is no longer held.
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
    if not repo or tables.rows("has_repository", repo=repo):
        return new
    known = (other for (other,) in tables.rows("repositories") if is_repository(other))
    same = (other for other in known if _lock_name(other) == _lock_name(repo))
    return replace(new, work=replace(new.work, repo=next(same, repo)))


def _lock_name(repo: str) -> str:
    return f"repository {repository_key(repo, os.path.realpath)}"


class _UnusableSchedule(Exception):
    """No run of the schedule of that name can be queued."""


def _in_transaction(
    operation: Callable[Concatenate[RunLeases, LeaseTransaction, P], T],
) -> Callable[Concatenate[RunLeases, P], T]:
    """Call a method with the transaction in which its work is done."""

    @wraps(operation)
    def call(leases: RunLeases, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return leases.tables.change(lambda tables: operation(leases, tables, *args, **kwargs))

    return call


class RunLeases:
    """The leases of a store, its workers, schedules, settings and limits. Safe to use from several threads.

    Each call is one transaction, in which the lease changes and the facts about it are appended to the log of its plan.
    A call whose answer was lost may be repeated: `add` recognises the run, `take` and `claim` the owner, `append` and
    `answer` the id of the event; the others do nothing the second time, or say that the lease is no longer the
    caller's.
    """

    def __init__(self, store: Store, tables: LeaseTables, recorder: Recorder) -> None:
        self._store = store
        self.tables = tables
        self._recorder = recorder

    def add(self, new: NewRun, first: Sequence[Fact] = ()) -> list[Lease]:
        """Queue a run, and return its leases, by hand. `first` is appended to the log before, such as a new plan.

        Raises:
            UsageError: the run has an invalid name, or contains a password.
            Refused: another run of the plan has not ended.
            NotFound: there is no such plan.
        """
        return self.add_all([(new, first)])[0]

    def add_all(self, runs: Sequence[tuple[NewRun, Sequence[Fact]]]) -> list[list[Lease]]:
        """Queue several runs, as `add` does, or none of them.

        Raises:
            UsageError: a run has an invalid name, or contains a password.
            Refused: another run of a plan has not ended.
            NotFound: there is no such plan.
        """
        checked = [(with_local_path(checked_run(new)), first) for new, first in runs]

        def work(tables: LeaseTransaction) -> list[list[Lease]]:
            # All before the first lease, and in one order, so that two callers do not wait for each other.
            for session in sorted({new.session for new, _ in checked}):
                tables.lock(session)
            lock_repositories(tables, [new for new, _ in checked])
            added = [self._add(tables, new, first) for new, first in checked]
            tables.announce()
            return added

        return self.tables.change(work)

    def claim(self, who: Claimer, owners: Sequence[str]) -> list[Lease]:
        """Take the first queued leases that the worker can run and no limit forbids: at most one for each owner.

        Owners are executions of the worker: `host/pid/nonce/execution`. Leases that they have already are returned.
        """
        for owner in owners:
            check_text(owner)

        def work(tables: LeaseTransaction) -> list[Lease]:
            tables.lock(who.worker)
            found = tables.owned(owners)
            free = [owner for owner in owners if owner not in {lease.owner for lease in found}]
            while free and (chosen := tables.within_limits(tables.claimable(who, len(free)))):
                found += [self._taken(tables, lease, who, free.pop(0)) for lease in chosen]
            return found

        return self.tables.change(work) if owners else []

    def reap(self, seen_for: int) -> list[Lease]:
        """Take lapsed leases from their owners, and return them. Call it again if there are `MAX_REAPED`.

        `seen_for` is for how many milliseconds the caller has seen the store without a gap. After an outage, owners get
        time to renew first.
        """

        def work(tables: LeaseTransaction) -> Lease | None:
            settings = tables.settings()
            found = tables.lapsed(settings, by_time=seen_for >= settings.grace)
            return None if found is None else self._lost(tables, *found)

        reaped: list[Lease] = []
        # Each in a transaction of its own, so that no other worker waits for long.
        while len(reaped) < MAX_REAPED and (lease := self.tables.change(work)) is not None:
            reaped.append(lease)
        return reaped

    def release(self, held: RunFence, why: str, delay: int = 0) -> Lease | None:
        """Give a lease back; nobody takes it before `delay` milliseconds have passed. None if it was not held."""
        return self._give_back(held, lambda lease, now: rules.released(lease, held, why, now, delay))

    @_in_transaction
    def lose(self, tables: LeaseTransaction, held: RunFence, why: str) -> Lease | None:
        """Take a lease from a worker that has ended: it counts as a loss of the run. None if it was not held."""
        lease = tables.lease(held.run, held.hand)
        return self._lost(tables, lease, why) if lease and rules.is_holder(lease, held) else None

    def close(self, held: RunFence, outcome: WorkOutcome, why: str = "", made: Published | None = None) -> Lease | None:
        """End the work under a lease, and return the lease after it. None if it was not held.

        `made` is what was published.
        """
        return self._give_back(held, lambda lease, now: rules.closed(lease, held, outcome, why, now, made))

    @_in_transaction
    def request_stop(self, tables: LeaseTransaction, run: str, ask: LeaseRequest, why: str = "") -> list[Lease]:
        """Ask the holders of a run to stop, and return its leases. Those that nobody holds change at once.

        Raises NotFound if there is no such run.
        """
        steps = [(lease, rules.stop_requested(lease, ask, why, tables.at.now)) for lease in _known(tables, run)]
        changed = [self._record(tables, lease, step, Actor.USER) for lease, step in steps]
        tables.announce()
        return changed

    @_in_transaction
    def requeue(self, tables: LeaseTransaction, run: str) -> list[Lease]:
        """Resume or retry a run, and return its leases.

        Raises NotFound if there is no such run, Refused if the run is done, or another run of its plan has not ended.
        """
        session = tables.session_of(run)
        if session is not None:
            tables.lock(session)
        known = _known(tables, run)
        # A hand that is done needs nothing more. If all are, the rule says why the run is refused.
        unfinished = [lease for lease in known if lease.state is not LeaseState.DONE] or known
        steps = [(lease, rules.resumed(lease, tables.at.now)) for lease in unfinished]
        _check_no_other(tables, known[0].session, run)
        changed = {lease.hand: self._record(tables, lease, step, Actor.USER) for lease, step in steps}
        tables.announce()
        return [changed.get(lease.hand, lease) for lease in known]

    def append(self, held: RunFence, fact: Asked | Kept | CommandRefused, event: str) -> None:
        """Append a fact under a lease, as the event of that id. Raises RunFenced if the lease is no longer held."""
        if not isinstance(fact, Asked) and self.tables.append(held, fact, event):
            return

        def work(tables: LeaseTransaction) -> None:
            lease = _held(tables, held, event)
            if lease is not None:
                step = rules.asked(lease, fact) if isinstance(fact, Asked) else Step(lease, (fact,))
                self._record(tables, lease, step, Actor.AGENT, event)

        self.tables.change(work)

    @_in_transaction
    def agent_ended(self, tables: LeaseTransaction, held: RunFence, who: Author, used: AgentUsage, event: str) -> None:
        """Append, as the event of that id, that an agent has ended, and what it has used.

        Raises RunFenced if the lease is no longer held.
        """
        lease = _held(tables, held, event)
        if lease is not None:
            fact, head, at = AgentEnded(held.run, held.hand), tables.head(lease.session), self._recorder.now()
            tables.append(lease.session, Event(event, head, at, Actor.AGENT, fact, who, used))

    @_in_transaction
    def answer(self, tables: LeaseTransaction, run: str, question: str, text: str, who: str, event: str) -> Lease:
        """Answer a question of a run, as the event of that id, and return the lease of a hand that asked.

        A run that waits for this answer only is queued again. Raises NotFound if there is no such run, Refused if the
        question is not open.
        """
        known = _known(tables, run)
        if tables.has_event(known[0].session, event):
            return known[0]
        answered = list[Lease]()
        for lease in known:
            # Hands that ask for the same have the same question.
            step = rules.answered(lease, question, text, who, tables.at.now)
            if step is not None:
                answered.append(self._record(tables, lease, step, Actor.USER, "" if answered else event))
        if not answered:
            raise Refused(f"run {run} has no open question {question!r}")
        tables.announce()
        return answered[0]

    def rebuild(self) -> int:
        """Add the leases that the logs of all plans tell of and that are missing; return how many.

        Leases that were held then are held again, for the time of a lease.
        """
        sessions = [self.tables.session(name) for (name,) in self.tables.rows("run_sessions")]
        return sum(map(self._rebuild, sessions))

    @_in_transaction
    def request(self, tables: LeaseTransaction, provider: str) -> int:
        """Take one of the requests of this minute. Return 0, or how many milliseconds to wait before trying again."""
        for per_minute, earliest in tables.rows("requests", name=provider):
            if per_minute > 0:
                now = tables.at.now
                # Requests are spread over a minute, whatever the row says.
                following, wait = request_at(min(earliest, now + MINUTE_MS), now, per_minute)
                if not wait:
                    tables.execute("set_next_request", name=provider, earliest=following)
                return wait
        return 0

    @_in_transaction
    def skip_delay(self, tables: LeaseTransaction, run: str) -> None:
        """Let queued leases of a run be taken at once, although they have a delay, unless an agent has failed."""
        for lease in tables.leases(run):
            hastened = rules.without_delay(lease, tables.at.now)
            if hastened is not None:
                tables.update(hastened)
                tables.announce()

    @_in_transaction
    def reconsider(self, tables: LeaseTransaction, run: str, hand: int, worker: str) -> None:
        """Let a worker take a queued lease that it has refused."""
        lease = tables.lease(run, hand)
        if lease is not None and lease.is_queued and worker in lease.refused:
            tables.update(replace(lease, refused=tuple(each for each in lease.refused if each != worker)))
            tables.announce()

    def tick(self, next_time: NextTime) -> dict[str, str]:
        """Queue a run of each schedule that is due, however often it was missed. Return the runs by schedule.

        A schedule whose last run has not ended, or that cannot be read, is skipped this time; its run is empty then.
        """
        found: dict[str, str] = {}
        unusable: set[str] = set()
        while True:
            try:
                ticked = self.tables.change(lambda tables: self._tick(tables, next_time, unusable))
            except _UnusableSchedule as error:
                # It is passed over, so that it does not hold up the others.
                unusable.add(str(error))
                continue
            if ticked is None:
                return found
            found[ticked[0]] = ticked[1]

    def renew(self, held: Sequence[RunFence]) -> list[Renewed]:
        """Renew leases, and return those that are still held. The others have been lost."""
        rows = self.tables.renew(held, self.settings().lease) if held else ()
        return [Renewed(RunFence(run, hand, epoch), ask_in(ask)) for run, hand, epoch, ask in rows]

    def look(self, run: str | None = None) -> list[RunView]:
        """Return all leases, or those of a run, with their sessions and workers, by run and hand."""
        workers = {worker.id: worker for worker in self.workers()}
        rows = self.tables.timed_rows("all_leases", run=run)
        leases = self._leases(columns for columns, _ in rows)
        sessions = self._sessions({lease.session for lease in leases})
        clock = rows[0][1] if rows else 0
        return [
            RunView(lease, sessions.get(lease.session), workers.get(lease.worker), remaining(lease, clock))
            for lease in leases
        ]

    def active(self) -> list[Lease]:
        """Return the leases of hands that have not ended, by run and hand."""
        return self._leases(self.tables.rows("active_leases"))

    def size(self) -> int:
        return self.tables.size()

    def forget(self, run: str) -> bool:
        """Remove the leases of a run that has ended. Return False if it has not, or if there is none."""
        return self.tables.write("forget_leases", run=run) > 0

    def revision(self) -> int:
        """Return a number that grows whenever a lease may have become free, or a stop was requested."""
        return next((int(revision) for (revision,) in self.tables.rows("fleet_revision")), 0)

    def wait(self, revision: int, timeout: float) -> bool:
        """Wait until the revision differs from `revision`. Return False if `timeout` seconds passed first."""
        return self.tables.wait(lambda: self.revision() != revision, timeout)

    def settings(self) -> FleetSettings:
        return settings_in(self.tables.rows("fleet_settings"), self._recorder)

    def configure(self, settings: FleetSettings) -> None:
        kept, names = checked_settings(settings), ("lease", "heartbeat", "margin", "reaper", "renewal", "engine")
        self.tables.write("configure", **{name: getattr(kept, name) for name in names})

    def findings(self) -> list[Finding]:
        """Check what workers need of the store, such as encryption, rights and a clock."""
        return self.tables.findings()

    def limits(self) -> list[ProviderLimit]:
        return self._recorder.good(map(limit_in, self.tables.rows("limits")))

    def set_limit(self, limit: ProviderLimit) -> None:
        """Set the limits of a provider; without any, it is removed."""
        checked_limit(limit)
        statement = "set_limit" if limit.runs or limit.requests else "remove_limit"
        self.tables.write(statement, name=limit.provider, runs=limit.runs, requests=limit.requests)

    def beat(self, worker: WorkerInfo) -> LeaseRequest:
        """Record a sign of life of a worker, and return what a person asks of it."""
        row = {name: getattr(worker, name) for name in ("id", "host", "pid", "version", "protocol", "slots")}
        return ask_in(self.tables.beat(row, worker.labels))

    def leave(self, worker: str) -> None:
        self.tables.write("worker_leave", id=worker)

    def workers(self) -> list[WorkerInfo]:
        return self._recorder.good(map(worker_in, self.tables.rows("workers")))

    def drain(self, worker: str) -> bool:
        """Ask a worker to take nothing more. Return False if there is none of that id."""
        return self.tables.write("drain", id=worker) > 0

    def set_schedule(self, schedule: RunSchedule) -> None:
        parse_cron(schedule.cron)
        self.tables.write("set_schedule", **schedule_row(schedule))

    def unschedule(self, name: str) -> bool:
        return self.tables.write("unschedule", name=name) > 0

    def schedules(self) -> list[RunSchedule]:
        return self._recorder.good(map(schedule_in, self.tables.rows("schedules")))

    def _leases(self, rows: Iterable[Sequence[Any]]) -> list[Lease]:
        return self._recorder.good(lease_in(columns, self.tables.session) for columns in rows)

    def _sessions(self, names: Collection[str]) -> dict[str, SessionInfo]:
        """Return the entries of sessions in the list of all, each read alone if they are few."""
        if len(names) > MAX_SINGLE_SESSIONS:
            return {info.name: info for info in self._store.sessions()}
        found = map(self._store.session_info, names)
        return {info.name: info for info in found if info is not None}

    def _rebuild(self, session: str) -> int:
        found = leases_in(session, self._store.events(session))

        def work(tables: LeaseTransaction) -> int:
            tables.lock(session)
            missing = [lease for lease in found if tables.lease(lease.run, lease.hand) is None]
            until = tables.at.clock + tables.settings().lease
            for lease in missing:
                tables.insert(replace(lease, until=until, boot=tables.at.boot) if lease.is_held else lease)
            tables.announce()
            return len(missing)

        return self.tables.change(work)

    def _tick(self, tables: LeaseTransaction, next_time: NextTime, unusable: Collection[str]) -> tuple[str, str] | None:
        schedule = tables.due()
        if schedule is None:
            return None

        following = replace(schedule, next=next_time(schedule, tables.at.now))
        last = tables.session_of(schedule.last) if schedule.last else None
        if schedule.name in unusable or (last is not None and schedule.last in tables.active(last)):
            tables.put_schedule(following)
            return schedule.name, ""
        when = f"-{datetime.fromtimestamp(schedule.next / 1000, UTC):%Y%m%d-%H%M}"
        # Processes and folders are named after runs, and another fleet on a machine may have a schedule of that name.
        unique = f"-{self._recorder.new_id()[-UNIQUE_LENGTH:]}"
        name = f"{schedule.name[: MAX_NAME - len(when) - len(unique)]}{when}{unique}"
        try:
            plan = plan_from_json(parse_strictly(schedule.plan))
            tables.lock(name)
            self._add(tables, checked_run(NewRun(name, name, schedule.work)), [PlanChanged(plan)])
        except (Refused, UsageError, StoreDamaged, ValueError) as error:
            raise _UnusableSchedule(schedule.name) from error
        tables.put_schedule(replace(following, last=name))
        tables.announce()
        return schedule.name, name

    def _add(self, tables: LeaseTransaction, new: NewRun, first: Sequence[Fact]) -> list[Lease]:
        """Queue a run whose session is locked."""
        known = tables.leases(new.run)
        if known:
            if known[0].session != new.session:
                raise Refused(f"run {new.run} is that of another plan")
            return known
        _check_no_other(tables, new.session, new.run)
        new = with_known_repository(tables, new)
        steps = [rules.queued(new, hand, tables.at.now) for hand in range(new.hands)]
        for step in steps:
            tables.insert(step.lease)
        for fact in first:
            self._append(tables, new.session, fact, Actor.USER)
        if tables.head(new.session) is None:
            raise NotFound(f"there is no plan {new.session!r}")
        return [self._record(tables, step.lease, step, Actor.USER) for step in steps]

    def _taken(self, tables: LeaseTransaction, lease: Lease, who: Claimer, owner: str) -> Lease:
        step = rules.taken(lease, owner, who.version, tables.at, tables.settings().lease)
        return self._record(tables, lease, step)

    def _lost(self, tables: LeaseTransaction, lease: Lease, why: str) -> Lease:
        after = self._record(tables, lease, rules.lost(lease, why, tables.task(lease.session), tables.at.now))
        tables.announce()
        return after

    @_in_transaction
    def _give_back(
        self, tables: LeaseTransaction, held: RunFence, decide: Callable[[Lease, int], Step | None]
    ) -> Lease | None:
        lease = tables.lease(held.run, held.hand)
        step = None if lease is None else decide(lease, tables.at.now)
        if lease is None or step is None:
            return None
        after = self._record(tables, lease, step)
        tables.announce()
        return after

    def _record(
        self, tables: LeaseTransaction, before: Lease, step: Step, actor: Actor = Actor.TIMER, event: str = ""
    ) -> Lease:
        """Write a changed lease, then its facts, of which the first becomes the event of that id, if one is given."""
        if step.lease != before:
            tables.update(step.lease)
        if before.is_held and not step.lease.is_held:
            # The successor, or another hand of the run, need not wait until they have lapsed by themselves.
            mark = lease_mark(f"{before.run}/{before.hand}")
            tables.execute("lapse_claims", session=tables.key(before.session), mark=mark)
        for fact in step.facts:
            self._append(tables, step.lease.session, fact, actor, event)
            event = ""
        return step.lease

    def _append(self, tables: LeaseTransaction, session: str, fact: Fact, actor: Actor, event: str = "") -> None:
        recorder = self._recorder
        new = Event(event or recorder.new_id(), tables.head(session), recorder.now(), actor, fact, recorder.author)
        tables.append(session, new)


def _held(tables: LeaseTransaction, held: RunFence, event: str) -> Lease | None:
    """Return a lease under which an event is to be appended; None if it was. Raises RunFenced if it is not held."""
    lease = tables.lease(held.run, held.hand)
    if lease is not None and tables.has_event(lease.session, event):
        return None
    if lease is None or not rules.is_holder(lease, held):
        raise RunFenced(held.run)
    return lease


def _known(tables: LeaseTransaction, run: str) -> list[Lease]:
    found = tables.leases(run)
    if not found:
        raise NotFound(f"there is no run {run!r}")
    return found


def _check_no_other(tables: LeaseTransaction, session: str, run: str) -> None:
    others = sorted(tables.active(session) - {run})
    if others:
        raise Refused(f"run {others[0]} of this plan has not ended: wait for it, or cancel it first")


def leases_of(store: Store, recorder: Recorder) -> RunLeases:
    """Return the leases of runs in a store. Raises UsageError if the store has none."""
    leases: Callable[[Recorder], RunLeases] | None = getattr(store, "leases", None)
    if leases is None:
        raise UsageError("a fleet needs a store in a SQLite file or in a PostgreSQL database")
    return leases(recorder)


def lists_of(store: Store) -> RunLists | None:
    """Return the leases of runs in a store, to be read in parts; None if the store cannot have any."""
    lists: Callable[[], RunLists] | None = getattr(store, "run_lists", None)
    return lists() if lists else None


class RunLists:
    """The leases of a store, to be read. The views have neither sessions nor workers. Safe for several threads."""

    def __init__(self, tables: LeaseTables) -> None:
        self._tables = tables

    def page(self, group: RunGroup, after: RunPlace, limit: int) -> list[RunView]:
        """Return the leases of a group that follow a place, at most `limit`."""
        place = {"since": after.since, "run": after.run, "hand": after.hand, "limit": limit}
        return self._views(self._tables.timed_rows("page_of_leases", **_group(group), **place))

    def held(self) -> list[RunView]:
        """Return all leases that workers hold, by run and hand."""
        return self._views(self._tables.timed_rows("held_leases"))

    def asking(self) -> list[Lease]:
        """Return the leases with open questions, by run and hand."""
        return [lease for lease, _ in self._good(self._tables.timed_rows("asking_leases"))]

    def of_sessions(self, sessions: Sequence[str]) -> list[RunView]:
        """Return all leases of some sessions, by run and hand."""
        found = self._views(self._tables.rows_of_sessions(sessions))
        return sorted(found, key=lambda view: (view.lease.run, view.lease.hand))

    def counts(self, limit: int) -> dict[RunGroup, int]:
        """Return how many leases are in each group, counted up to a limit."""
        return {group: self._number("count_leases", **_group(group), limit=limit) for group in RunGroup}

    def taken_over(self, since: int) -> int:
        """Return how many leases whose state is newer than a time were lost by a worker before."""
        return self._number("count_taken_over", states=STATES, since=since)

    def recent_sessions(self, since: int) -> list[str]:
        """Return the sessions of leases whose state is newer than a time, or that workers hold, each once."""
        rows = self._tables.rows("recent_sessions", states=STATES, since=since)
        return [self._tables.session(session) for (session,) in rows]

    def exists(self) -> bool:
        """Return whether there is a lease or a worker."""
        return bool(self._number("fleet_exists"))

    def now(self) -> int:
        """Return the time by the clock of the store, which signs of life have, in milliseconds since 1970."""
        return self._tables.now()

    def _views(self, rows: Iterable[tuple[Sequence[Any], int]]) -> list[RunView]:
        return [RunView(lease, remaining=remaining(lease, clock)) for lease, clock in self._good(rows)]

    def _good(self, rows: Iterable[tuple[Sequence[Any], int]]) -> list[tuple[Lease, int]]:
        found = ((lease_in(columns, self._tables.session), clock) for columns, clock in rows)
        return [(lease, clock) for lease, clock in found if not isinstance(lease, BadRow)]

    def _number(self, statement: str, /, **row: Any) -> int:
        return next((int(number) for (number,) in self._tables.rows(statement, **row)), 0)


def _group(group: RunGroup) -> dict[str, object]:
    return {"state": group.state.value, "held": group.is_held}
