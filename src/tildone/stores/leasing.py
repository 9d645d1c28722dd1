"""The leases of a store: what is read, decided and written in one transaction is the same in every store.

A store implements `LeaseTables` and `LeaseTransaction`. Whoever locks several things locks them in this order: the name
of a session or of a worker, leases, limits, the session. Whoever chooses among queued leases waits for none of them. So
operations that meet wait for each other, but never in a circle. If a store repeats a transaction whose answer was lost,
the second one finds what the first one did.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from tildone.base import NotFound, Refused, RunFenced, StoreDamaged, UsageError, replace
from tildone.log import lease_rules as rules
from tildone.log.cron import parse_cron
from tildone.log.kept import Finding
from tildone.log.lease_port import NextTime
from tildone.log.lease_rules import Step, leases_in
from tildone.log.settings import MINUTE_MS, FleetSettings, ProviderLimit, checked_limit, checked_settings, request_at
from tildone.log.store import Store
from tildone.plan.codec import parse_strictly, plan_from_json
from tildone.plan.events import Actor, Event, Fact, PlanChanged, SessionInfo
from tildone.plan.lists import BadRow, RunGroup, RunLists, RunPlace, RunSchedule, RunView, WorkerInfo
from tildone.plan.names import MAX_NAME, check_text
from tildone.plan.runs import (
    Ask,
    Asked,
    Claimer,
    Kept,
    Lease,
    LeaseState,
    NewRun,
    Renewed,
    RunFence,
    WorkOutcome,
    checked_run,
)
from tildone.stores.lease_transaction import (
    LeaseTables,
    LeaseTransaction,
    Scribe,
    ask_in,
    lease_in,
    limit_in,
    lock_repositories,
    remaining,
    schedule_in,
    schedule_row,
    settings_in,
    with_known_repository,
    with_local_path,
    worker_in,
)

MAX_SINGLE_SESSIONS = 20
"""Up to how many sessions are read one by one, instead of the list of all."""

MAX_REAPED = 50
"""How many leases one call of `reap` takes at most."""


UNIQUE_LENGTH = 6
"""How many characters of an id make the run of a schedule unique."""


class _UnusableSchedule(Exception):
    """No run of the schedule of that name can be queued."""


class StoredLeases:
    """The leases of runs in the tables of a store. `RunLeases` in `tildone.log.lease_port` documents the calls."""

    def __init__(self, store: Store, tables: LeaseTables, scribe: Scribe) -> None:
        self._store = store
        self._tables = tables
        self._scribe = scribe

    def add(self, new: NewRun, first: Sequence[Fact] = ()) -> list[Lease]:
        return self.add_all([(new, first)])[0]

    def add_all(self, runs: Sequence[tuple[NewRun, Sequence[Fact]]]) -> list[list[Lease]]:
        checked = [(with_local_path(checked_run(new)), first) for new, first in runs]

        def work(tables: LeaseTransaction) -> list[list[Lease]]:
            # All before the first lease, and in one order, so that two callers do not wait for each other.
            for session in sorted({new.session for new, _ in checked}):
                tables.lock(session)
            lock_repositories(tables, [new for new, _ in checked])
            added = [self._add(tables, new, first) for new, first in checked]
            tables.announce()
            return added

        return self._tables.change(work)

    def take(self, who: Claimer, owner: str, run: str, hand: int, attempt: int) -> Lease | None:
        check_text(owner)

        def work(tables: LeaseTransaction) -> Lease | None:
            # After an answer that was lost, the first transaction may still be at work.
            tables.lock(who.worker)
            for held in tables.owned([owner]):
                return held if (held.run, held.hand, held.attempt) == (run, hand, attempt) else None
            lease = tables.takeable(who, run, hand)
            if lease is None or lease.attempt != attempt or not tables.within_limits([lease]):
                return None
            return self._taken(tables, lease, who, owner)

        return self._tables.change(work)

    def claim(self, who: Claimer, owners: Sequence[str]) -> list[Lease]:
        for owner in owners:
            check_text(owner)

        def work(tables: LeaseTransaction) -> list[Lease]:
            tables.lock(who.worker)
            found = tables.owned(owners)
            free = [owner for owner in owners if owner not in {lease.owner for lease in found}]
            while free and (chosen := tables.within_limits(tables.claimable(who, len(free)))):
                found += [self._taken(tables, lease, who, free.pop(0)) for lease in chosen]
            return found

        return self._tables.change(work) if owners else []

    def reap(self, seen_for: int) -> list[Lease]:
        def work(tables: LeaseTransaction) -> Lease | None:
            settings = tables.settings()
            found = tables.lapsed(settings, by_time=seen_for >= settings.grace)
            if found is None:
                return None
            return self._lost(tables, *found)

        reaped: list[Lease] = []
        # Each in a transaction of its own, so that no other worker waits for long.
        while len(reaped) < MAX_REAPED and (lease := self._tables.change(work)) is not None:
            reaped.append(lease)
        return reaped

    def release(self, held: RunFence, why: str, delay: int = 0) -> Lease | None:
        return self._give_back(held, lambda lease, now: rules.released(lease, held, why, now, delay))

    def lose(self, held: RunFence, why: str) -> Lease | None:
        def work(tables: LeaseTransaction) -> Lease | None:
            lease = tables.lease(held.run, held.hand)
            return self._lost(tables, lease, why) if lease and rules.is_holder(lease, held) else None

        return self._tables.change(work)

    def close(self, held: RunFence, outcome: WorkOutcome, why: str = "") -> Lease | None:
        return self._give_back(held, lambda lease, now: rules.closed(lease, held, outcome, why, now))

    def request_stop(self, run: str, ask: Ask, why: str = "") -> list[Lease]:
        def work(tables: LeaseTransaction) -> list[Lease]:
            steps = [(lease, rules.stop_requested(lease, ask, why, tables.at.now)) for lease in _known(tables, run)]
            changed = [self._record(tables, lease, step, Actor.USER) for lease, step in steps]
            tables.announce()
            return changed

        return self._tables.change(work)

    def requeue(self, run: str) -> list[Lease]:
        def work(tables: LeaseTransaction) -> list[Lease]:
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

        return self._tables.change(work)

    def append(self, held: RunFence, fact: Asked | Kept, event: str) -> None:
        if not isinstance(fact, Asked) and self._tables.append(held, fact, event):
            return

        def work(tables: LeaseTransaction) -> None:
            lease = tables.lease(held.run, held.hand)
            if lease is not None and tables.has_event(lease.session, event):
                return
            if lease is None or not rules.is_holder(lease, held):
                raise RunFenced(held.run)
            step = rules.asked(lease, fact) if isinstance(fact, Asked) else Step(lease, (fact,))
            self._record(tables, lease, step, Actor.AGENT, event)

        self._tables.change(work)

    def answer(self, run: str, question: str, text: str, who: str, event: str) -> Lease:
        def work(tables: LeaseTransaction) -> Lease:
            known = _known(tables, run)
            if tables.has_event(known[0].session, event):
                return known[0]
            for lease in known:
                step = rules.answered(lease, question, text, who, tables.at.now)
                if step is not None:
                    after = self._record(tables, lease, step, Actor.USER, event)
                    tables.announce()
                    return after
            raise Refused(f"run {run} has no open question {question!r}")

        return self._tables.change(work)

    def dispatch(self, who: Claimer, most: int) -> list[Lease]:
        def work(tables: LeaseTransaction) -> list[Lease]:
            found: list[Lease] = []
            while len(found) < most:
                candidates = tables.claimable(who, most - len(found), unsent=True)
                chosen = tables.within_limits(candidates, sent=True)
                if not chosen:
                    break
                tables.mark_sent(chosen)
                found += [replace(lease, sent=True) for lease in chosen]
            return found

        return self._tables.change(work)

    def resend(self, run: str, hand: int, attempt: int) -> Lease | None:
        def work(tables: LeaseTransaction) -> Lease | None:
            lease = tables.lease(run, hand)
            after = None if lease is None else rules.resent(lease, attempt)
            if after is not None:
                tables.update(after)
                tables.announce()
            return after

        return self._tables.change(work)

    def rebuild(self) -> int:
        sessions = [self._tables.session(name) for (name,) in self._tables.rows("run_sessions")]
        return sum(map(self._rebuild, sessions))

    def request(self, provider: str) -> int:
        def work(tables: LeaseTransaction) -> int:
            per_minute, earliest = tables.requests(provider)
            if per_minute <= 0:
                return 0
            # Requests are spread over a minute, whatever the row says.
            earliest = min(earliest, tables.at.now + MINUTE_MS)
            following, wait = request_at(earliest, tables.at.now, per_minute)
            if not wait:
                tables.set_next_request(provider, following)
            return wait

        return self._tables.change(work)

    def skip_delay(self, run: str) -> None:
        def work(tables: LeaseTransaction) -> None:
            found = [rules.without_delay(lease, tables.at.now) for lease in tables.leases(run)]
            hastened = [lease for lease in found if lease is not None]
            for lease in hastened:
                tables.update(lease)
            if hastened:
                tables.announce()

        self._tables.change(work)

    def reconsider(self, run: str, hand: int, worker: str) -> None:
        def work(tables: LeaseTransaction) -> None:
            lease = tables.lease(run, hand)
            if lease is not None and lease.is_queued and worker in lease.refused:
                tables.update(replace(lease, refused=tuple(each for each in lease.refused if each != worker)))
                tables.announce()

        self._tables.change(work)

    def tick(self, next_time: NextTime) -> dict[str, str]:
        found: dict[str, str] = {}
        unusable: set[str] = set()
        while True:
            try:
                ticked = self._tables.change(lambda tables: self._tick(tables, next_time, unusable))
            except _UnusableSchedule as error:
                # It is passed over, so that it does not hold up the others.
                unusable.add(str(error))
                continue
            if ticked is None:
                return found
            found[ticked[0]] = ticked[1]

    def renew(self, held: Sequence[RunFence]) -> list[Renewed]:
        rows = self._tables.renew(held, self.settings().lease) if held else ()
        return [Renewed(RunFence(run, hand, epoch), ask_in(ask)) for run, hand, epoch, ask in rows]

    def look(self, run: str | None = None) -> list[RunView]:
        workers = {worker.id: worker for worker in self.workers()}
        rows = self._tables.timed_rows("all_leases", run=run)
        leases = self._leases(columns for columns, _ in rows)
        sessions = self._sessions({lease.session for lease in leases})
        clock = rows[0][1] if rows else 0
        return [
            RunView(lease, sessions.get(lease.session), workers.get(lease.worker), remaining(lease, clock))
            for lease in leases
        ]

    def active(self) -> list[Lease]:
        return self._leases(self._tables.rows("active_leases"))

    def sent(self) -> list[Lease]:
        return self._leases(self._tables.rows("sent_leases"))

    def size(self) -> int:
        return self._tables.size()

    def forget(self, run: str) -> bool:
        return self._tables.write("forget_leases", run=run) > 0

    def revision(self) -> int:
        return next((int(revision) for (revision,) in self._tables.rows("fleet_revision")), 0)

    def wait(self, revision: int, timeout: float) -> bool:
        return self._tables.wait(lambda: self.revision() != revision, timeout)

    def settings(self) -> FleetSettings:
        return settings_in(self._tables.rows("fleet_settings"), self._scribe)

    def configure(self, settings: FleetSettings) -> None:
        kept, names = checked_settings(settings), ("lease", "heartbeat", "margin", "reaper", "renewal", "engine")
        self._tables.write("configure", **{name: getattr(kept, name) for name in names})

    def findings(self) -> list[Finding]:
        return self._tables.findings()

    def limits(self) -> list[ProviderLimit]:
        return self._scribe.good(map(limit_in, self._tables.rows("limits")))

    def set_limit(self, limit: ProviderLimit) -> None:
        checked_limit(limit)
        statement = "set_limit" if limit.runs or limit.requests else "remove_limit"
        self._tables.write(statement, name=limit.provider, runs=limit.runs, requests=limit.requests)

    def beat(self, worker: WorkerInfo) -> Ask:
        row = {name: getattr(worker, name) for name in ("id", "host", "pid", "version", "protocol", "slots")}
        return ask_in(self._tables.beat(row, worker.labels))

    def leave(self, worker: str) -> None:
        self._tables.write("worker_leave", id=worker)

    def workers(self) -> list[WorkerInfo]:
        return self._scribe.good(map(worker_in, self._tables.rows("workers")))

    def drain(self, worker: str) -> bool:
        return self._tables.write("drain", id=worker) > 0

    def set_schedule(self, schedule: RunSchedule) -> None:
        parse_cron(schedule.cron)
        self._tables.write("set_schedule", **schedule_row(schedule))

    def unschedule(self, name: str) -> bool:
        return self._tables.write("unschedule", name=name) > 0

    def schedules(self) -> list[RunSchedule]:
        return self._scribe.good(map(schedule_in, self._tables.rows("schedules")))

    def _leases(self, rows: Iterable[Sequence[Any]]) -> list[Lease]:
        return self._scribe.good(lease_in(columns, self._tables.session) for columns in rows)

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

        return self._tables.change(work)

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
        unique = f"-{self._scribe.new_id()[-UNIQUE_LENGTH:]}"
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

    def _give_back(self, held: RunFence, decide: Callable[[Lease, int], Step | None]) -> Lease | None:
        def work(tables: LeaseTransaction) -> Lease | None:
            lease = tables.lease(held.run, held.hand)
            step = None if lease is None else decide(lease, tables.at.now)
            if lease is None or step is None:
                return None
            after = self._record(tables, lease, step)
            tables.announce()
            return after

        return self._tables.change(work)

    def _record(
        self, tables: LeaseTransaction, before: Lease, step: Step, actor: Actor = Actor.TIMER, event: str = ""
    ) -> Lease:
        """Write a changed lease, then its facts, of which the first becomes the event of that id, if one is given."""
        if step.lease != before:
            tables.update(step.lease)
        if before.is_held and not step.lease.is_held:
            # The successor, or another hand of the run, need not wait until they have lapsed by themselves.
            tables.lapse_claims(before.session, f"{before.run}/{before.hand}")
        for fact in step.facts:
            self._append(tables, step.lease.session, fact, actor, event)
            event = ""
        return step.lease

    def _append(self, tables: LeaseTransaction, session: str, fact: Fact, actor: Actor, event: str = "") -> None:
        scribe = self._scribe
        new = Event(event or scribe.new_id(), tables.head(session), scribe.now(), actor, fact, scribe.author)
        tables.append(session, new)


def _known(tables: LeaseTransaction, run: str) -> list[Lease]:
    found = tables.leases(run)
    if not found:
        raise NotFound(f"there is no run {run!r}")
    return found


def _check_no_other(tables: LeaseTransaction, session: str, run: str) -> None:
    others = sorted(tables.active(session) - {run})
    if others:
        raise Refused(f"run {others[0]} of this plan has not ended: wait for it, or cancel it first")


STATES = [state.value for state in LeaseState]


def lists_of(store: Store) -> RunLists | None:
    """Return the leases of runs in a store, to be read in parts; None if the store cannot have any."""
    lists: Callable[[], RunLists] | None = getattr(store, "run_lists", None)
    return lists() if lists else None


class StoredRunLists:
    """The leases in the tables of a store, to be read."""

    def __init__(self, tables: LeaseTables) -> None:
        self._tables = tables

    def page(self, group: RunGroup, after: RunPlace, limit: int) -> list[RunView]:
        place = {"since": after.since, "run": after.run, "hand": after.hand, "limit": limit}
        return self._views(self._tables.timed_rows("page_of_leases", **_group(group), **place))

    def held(self) -> list[RunView]:
        return self._views(self._tables.timed_rows("held_leases"))

    def asking(self) -> list[Lease]:
        return [lease for lease, _ in self._good(self._tables.timed_rows("asking_leases"))]

    def of_sessions(self, sessions: Sequence[str]) -> list[RunView]:
        found = self._views(self._tables.rows_of_sessions(sessions))
        return sorted(found, key=lambda view: (view.lease.run, view.lease.hand))

    def counts(self, limit: int) -> dict[RunGroup, int]:
        return {group: self._number("count_leases", **_group(group), limit=limit) for group in RunGroup}

    def taken_over(self, since: int) -> int:
        return self._number("count_taken_over", states=STATES, since=since)

    def recent_sessions(self, since: int) -> list[str]:
        rows = self._tables.rows("recent_sessions", states=STATES, since=since)
        return [self._tables.session(session) for (session,) in rows]

    def exists(self) -> bool:
        return bool(self._number("fleet_exists"))

    def now(self) -> int:
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
