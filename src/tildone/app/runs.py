"""The fleet of a store, for screens: its workers, what they hold, what runs wait for; and what is requested of runs.

A refresh reads the workers and, if something has changed, what they hold: never all runs, and no plans. What has
changed about runs is found by their sessions, because nearly every change of a lease appends to the log of its plan.
Requests of persons do not; they change the revision of the fleet.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from enum import Enum
from itertools import islice
from threading import Lock

from tildone.app.answering import (
    CANCEL,
    FAILURE,
    MAX_EVENTS_READ,
    RETRY,
    OpenQuestion,
    logged_questions,
    offered_answers,
)
from tildone.app.settings import Settings, data_folder
from tildone.app.settings_file import fleet_config
from tildone.app.who import PersonAct, check_outside_runs, check_person
from tildone.base import NotFound, Refused, replace, value
from tildone.log.needs import Need
from tildone.log.settings import FleetSettings
from tildone.log.store import Store
from tildone.plan.lists import FIRST, RunGroup, RunView, WorkerInfo
from tildone.plan.runs import Lease, LeaseRequest, LeaseState, RunEnded, is_of
from tildone.plan.text.runs import short_reason
from tildone.stores.leasing import RunLeases, RunLists

MAX_FAILURES = 200
"""How many of the runs that have failed need a person, the newest first."""

MAX_SESSIONS_READ = 500
"""If more sessions have changed at once, their runs are not told one by one."""

NEVER = 2**62
SHOWN_MS = 86_400_000
"""For how long a worker that is lost is shown, unless it still holds a lease."""


def fleet_home(settings: Settings) -> str:
    """Return the folder of the files of runs on this machine: working trees, outputs and reports."""
    return fleet_config(dict(settings.fleet)).worktrees or os.path.join(data_folder(os.environ), "fleet")


class WorkerState(Enum):
    """How recent the newest sign of life of a worker is."""

    LIVE = "live"
    LATE = "late"
    LOST = "lost"


@value
class WorkerRow:
    """A worker in a list. `seen` is its newest sign of life by the clock of this machine.

    `held` is how many leases it has; `waiting` of them have open questions.
    """

    worker: WorkerInfo
    state: WorkerState
    seen: int
    held: int = 0
    waiting: int = 0


@value
class RunAsked:
    """A question in the log of a plan, with the lease that it belongs to."""

    question: OpenQuestion
    lease: Lease


@value
class FleetChange:
    """What a refresh has found: the leases and workers that are new or different, and the ids of workers that left."""

    runs: tuple[RunView, ...] = ()
    workers: tuple[WorkerRow, ...] = ()
    left: tuple[str, ...] = ()
    is_different: bool = False


class FleetIndex:
    """The workers of a store and what they hold. Safe for several threads. `now` returns the time in milliseconds."""

    def __init__(self, store: Store, lists: RunLists, leases: RunLeases, now: Callable[[], int]) -> None:
        self.lists, self.leases = lists, leases
        self.exists = False
        self.settings = FleetSettings()
        self.asked: dict[str, RunAsked] = {}
        """The questions in the logs of plans, by the ids of their needs."""
        self._store, self._now = store, now
        self._lock = Lock()
        self._revision = -1
        self._workers: dict[str, WorkerRow] = {}
        self._held: dict[tuple[str, int], RunView] = {}
        self._next_lapse = NEVER
        """When the first of the leases would lapse if it was not renewed since it was read."""
        self._texts: dict[tuple[str, int], tuple[str | None, list[OpenQuestion]]] = {}

    @property
    def workers(self) -> list[WorkerRow]:
        return sorted(self._workers.values(), key=lambda row: (row.state is WorkerState.LOST, row.worker.id))

    @property
    def holding(self) -> list[RunView]:
        return list(self._held.values())

    def run_of(self, session: str) -> str:
        """Return the run that works on a session now, or waits for an answer; empty if there is none."""
        held = (view.lease for view in self.holding)
        asking = (each.lease for each in self.asked.values())
        return next((lease.run for lease in (*held, *asking) if lease.session == session), "")

    def needs(self) -> list[Need]:
        """Read the questions in the logs of plans, and return them as needs."""
        found: dict[str, RunAsked] = {}
        texts: dict[tuple[str, int], tuple[str | None, list[OpenQuestion]]] = {}
        for lease in self.lists.asking():
            # The text of a question changes only with the log of its plan.
            head = self._store.session_head(lease.session).head
            before = self._texts.get((lease.run, lease.hand))
            if before is None or before[0] != head or {each.id for each in before[1]} != set(lease.questions):
                before = head, logged_questions(self._store, lease.session, lease.run, lease.questions)
            texts[lease.run, lease.hand] = before
            found |= {f"{lease.run}:{each.id}": RunAsked(each, lease) for each in before[1]}
        for lease in self._failures():
            head = self._store.session_head(lease.session).head
            before = self._texts.get((lease.run, lease.hand))
            if before is None or before[0] != head:
                why = why_failed(self._store, lease)
                before = head, [OpenQuestion(lease.run, FAILURE, FAILURE, why, since=lease.since)]
            texts[lease.run, lease.hand] = before
            found.setdefault(f"{lease.run}:{FAILURE}", RunAsked(before[1][0], lease))
        self.asked, self._texts = found, texts
        return [_need(name, each) for name, each in found.items()]

    def _failures(self) -> list[Lease]:
        """Return the leases of runs that have failed, and that no newer run has replaced."""
        failed = [view.lease for view in self.lists.page(RunGroup.FAILED, FIRST, MAX_FAILURES)]
        if not failed:
            return []
        others = [view.lease for view in self.lists.of_sessions(list({lease.session for lease in failed}))]
        last = {schedule.name: schedule.last for schedule in self.leases.schedules()}
        replaced = replaced_runs([*failed, *others])
        return [
            lease
            for lease in failed
            if lease.run not in replaced and last.get(schedule_of(lease.run), lease.run) == lease.run
        ]

    def refresh(self, sessions: Collection[str], *, detailed: bool) -> FleetChange:
        """Read what has changed. `sessions` have changed; only if `detailed`, their runs are read.

        Raises StoreError if the store cannot be read.
        """
        with self._lock:
            revision = self.leases.revision()
            is_different = revision != self._revision or bool(sessions)
            if is_different:
                self.exists = self.lists.exists()
                self.settings = self.leases.settings()
            workers = self.leases.workers()
            is_different |= self._now() >= self._next_lapse
            states = self._states(self._shown(workers))
            is_different |= states != {row.worker.id: row.state for row in self._workers.values()}
            differing = self._read_held() if is_different else []
            before, self._workers = self._workers, self._rows(self._shown(workers))
            self._revision = revision
            self.exists |= bool(workers)
            reads = detailed and self.exists and len(sessions) <= MAX_SESSIONS_READ
            runs = {_key(view): view for view in (*differing, *(self.lists.of_sessions([*sessions]) if reads else ()))}
            return FleetChange(
                tuple(runs.values()),
                tuple(row for name, row in self._workers.items() if row != before.get(name)),
                tuple(before.keys() - self._workers.keys()),
                is_different,
            )

    def _read_held(self) -> list[RunView]:
        """Read what workers hold; return what differs, apart from renewals."""
        before, self._held = self._held, {_key(view): view for view in self.lists.held()}
        left = min((view.remaining for view in self._held.values() if view.remaining), default=NEVER)
        self._next_lapse = self._now() + left
        return [view for name, view in self._held.items() if _steady(view) != _steady(before.get(name))]

    def _shown(self, workers: Iterable[WorkerInfo]) -> list[WorkerInfo]:
        """Return the workers without those that were lost long ago."""
        since = self.lists.now() - SHOWN_MS
        holders = {view.lease.worker for view in self._held.values()}
        return [worker for worker in workers if worker.seen > since or worker.id in holders]

    def _states(self, workers: Iterable[WorkerInfo]) -> dict[str, WorkerState]:
        now = self.lists.now()
        return {worker.id: self._state(now - worker.seen) for worker in workers}

    def _state(self, silent: int) -> WorkerState:
        if silent < self.settings.grace:
            return WorkerState.LIVE
        return WorkerState.LATE if silent < self.settings.lease else WorkerState.LOST

    def _rows(self, workers: Iterable[WorkerInfo]) -> dict[str, WorkerRow]:
        behind = self._now() - self.lists.now()
        states = self._states(workers := list(workers))
        held = [view.lease for view in self._held.values()]
        counts = Counter(lease.worker for lease in held)
        waiting = Counter(lease.worker for lease in held if lease.questions)
        return {
            each.id: WorkerRow(each, states[each.id], self._seen(each, behind), counts[each.id], waiting[each.id])
            for each in workers
        }

    def _seen(self, worker: WorkerInfo, behind: int) -> int:
        """Return the newest sign of life by the clock of this machine, the same until there is a newer one."""
        before = self._workers.get(worker.id)
        return before.seen if before and before.worker.seen == worker.seen else worker.seen + behind


def why_failed(store: Store, lease: Lease) -> str:
    """Return why a run has failed, in a line, as the log of its plan has it."""
    for event in islice(store.history(lease.session), MAX_EVENTS_READ):
        if isinstance(event.fact, RunEnded) and is_of(event.fact, lease):
            return short_reason(event.fact.why) or "it has failed"
    return "it has failed"


_OF_SCHEDULE = re.compile(r"(.+)-[0-9]{8}-[0-9]{4}-[0-9a-z]{6}")


def schedule_of(run: str) -> str:
    """Return the name of the schedule that has queued a run; empty if none has."""
    match = _OF_SCHEDULE.fullmatch(run)
    return match[1] if match else ""


def replaced_runs(leases: Iterable[Lease]) -> set[str]:
    """Return the runs of whose plan, or schedule, there is a newer run: their failures need nobody any more."""
    newest: dict[str, Lease] = {}
    found = set[str]()
    for lease in sorted(leases, key=lambda lease: (lease.made, lease.run)):
        line = schedule_of(lease.run) or lease.session
        if line in newest and newest[line].run != lease.run:
            found.add(newest[line].run)
        newest[line] = lease
    return found


def _need(name: str, asked: RunAsked) -> Need:
    question, lease = asked.question, asked.lease
    options = tuple(offered_answers(question))
    return Need(name, lease.session, question.kind, question.text, options, question.since or lease.since)


def _key(view: RunView) -> tuple[str, int]:
    return view.lease.run, view.lease.hand


def _steady(view: RunView | None) -> tuple[Lease, bool] | None:
    return None if view is None else (replace(view.lease, until=0, boot=""), bool(view.remaining))


class RunRequest(Enum):
    """What can be requested of a run. The value is its word on every surface."""

    PAUSE = "pause"
    CANCEL = CANCEL
    RESUME = "resume"
    RETRY = RETRY


STOPS = {RunRequest.PAUSE: LeaseRequest.PAUSE, RunRequest.CANCEL: LeaseRequest.CANCEL}
"""The requests that a holder is asked for. The others queue runs again, and are for a person only."""

QUEUES = {
    RunRequest.RESUME: (LeaseState.PAUSED,),
    RunRequest.RETRY: (LeaseState.FAILED, LeaseState.CANCELLED),
}
"""The states of the runs that the others are for."""

_ENDING = (LeaseRequest.PAUSE, LeaseRequest.PAUSE_NOW, LeaseRequest.CANCEL, LeaseRequest.CANCEL_NOW)


def check_allowed(settings: Settings, request: RunRequest) -> None:
    """Check that whoever acts in this process may request something. An agent that a person talks to may stop runs.

    Raises NotThePerson if this process works for a run; or this is the shell of an agent, and runs would be queued.
    """
    act = PersonAct[f"{request.name}_RUN"]
    if request in STOPS:
        check_outside_runs(act)
    else:
        check_person(settings, act)


def check_state(known: Sequence[Lease], request: RunRequest) -> None:
    """Check that the state of a run, given its leases, lets it be stopped or queued.

    Raises Refused if it has ended already, or is in another state. One that is about to rest may be resumed, and one
    that has failed may be cancelled: nobody is told of it any more.
    """
    run = known[0].run
    if request in STOPS:
        gives_up = request is RunRequest.CANCEL and any(lease.state is LeaseState.FAILED for lease in known)
        if not gives_up and not any(lease.state.is_active for lease in known):
            raise Refused(f"run {run} has ended already")
        return
    states = QUEUES[request]
    is_pausing = request is RunRequest.RESUME and any(lease.request.is_pause for lease in known)
    if not is_pausing and not any(lease.state in states for lease in known):
        wanted = " or ".join(str(state.value) for state in states)
        hint = "; to run its plan again: tildone fleet add PLAN" if known[0].state is LeaseState.DONE else ""
        raise Refused(f"run {run} is {known[0].state.value}; {request.value} is for runs that are {wanted}{hint}")


def offered_requests(lease: Lease) -> list[RunRequest]:
    """Return what a screen offers for a hand of a run: what its state allows and was not requested yet."""
    is_resting = lease.state is LeaseState.PAUSED
    offers = {
        RunRequest.PAUSE: lease.state.is_active
        and not is_resting
        and lease.request not in (LeaseRequest.PAUSE, LeaseRequest.CANCEL),
        RunRequest.RESUME: is_resting or (lease.state is LeaseState.OPEN and lease.request is LeaseRequest.PAUSE),
        RunRequest.RETRY: lease.state in QUEUES[RunRequest.RETRY],
        RunRequest.CANCEL: (lease.state.is_active and lease.request is not LeaseRequest.CANCEL)
        or lease.state is LeaseState.FAILED,
    }
    return [request for request, is_offered in offers.items() if is_offered]


def request_run(leases: RunLeases, run: str, request: RunRequest, *, at_once: bool = False) -> list[Lease]:
    """Request something of a run, and return its leases. `at_once` is in the middle of a task.

    Raises NotFound if there is no such run, Refused if it is in another state, or another run of its plan has not
    ended.
    """
    known = [view.lease for view in leases.look(run)]
    if not known:
        raise NotFound(f"there is no run {run!r}")
    check_state(known, request)
    if request in QUEUES:
        return leases.requeue(run)
    ask = STOPS[request]
    why = f"{'cancelled' if ask.is_cancel else 'paused'} by a person"
    return leases.request_stop(run, ask.now if at_once else ask, why)


def pause_all(leases: RunLeases) -> list[str]:
    """Pause all runs that have not ended, and return those of which that was not requested before."""
    awake = (
        lease for lease in leases.active() if lease.state is not LeaseState.PAUSED and lease.request not in _ENDING
    )
    return _each(leases, awake, RunRequest.PAUSE)


def resume_all(leases: RunLeases) -> list[str]:
    """Queue all runs again that rest or are about to, and return them."""
    resting = (lease for lease in leases.active() if lease.state is LeaseState.PAUSED or lease.request.is_pause)
    return _each(leases, resting, RunRequest.RESUME)


def _each(leases: RunLeases, found: Iterable[Lease], request: RunRequest) -> list[str]:
    """Request something of the runs of leases, one after the other, and return those that could be changed."""
    changed = []
    for run in dict.fromkeys(lease.run for lease in found):
        try:
            request_run(leases, run, request)
        except (NotFound, Refused):
            # It has ended, or somebody else was faster.
            continue
        changed.append(run)
    return changed
