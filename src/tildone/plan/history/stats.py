"""What history amounts to: statistics of a plan, counters and gauges of a store, and tasks that agents have set aside.

The statistics are open tasks over time, when each task was worked on, nudges and let-goes, in one pass over the events
of a branch. Times never go back: an event whose clock was behind counts as simultaneous with the one before it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, MutableMapping, Sequence
from enum import Enum
from itertools import islice

from tildone.base import TYPE_CHECKING, replace, value
from tildone.plan.events import UNKNOWN, AgentUsage, Author, Event, Nudged, PlanChanged, Tripped, added, since
from tildone.plan.history.changes import (
    Location,
    differing_in_place,
    match_plans,
    removed_locations,
    task_at,
    task_locations,
)
from tildone.plan.history.timeline import event_data
from tildone.plan.history.usage import TaskUsage, TokenUse, plan_usage, total_usage, usage_within
from tildone.plan.lists import WorkerInfo
from tildone.plan.model import Plan, PlanProgress, Status, Task, held_up, numbered, progress
from tildone.plan.runs import Lease, LeaseRequest, LeaseState, RunEnded, RunLost, RunReleased, RunTaken
from tildone.plan.text.charts import MIN_BREAK_MS, Family, Kind, Sample
from tildone.plan.text.proofs import check_text
from tildone.plan.text.safe import printable

if TYPE_CHECKING:
    from tildone.plan.history.timeline import Data, When


Key = tuple[str, tuple[str, ...]]
"""What is counted, and the values of its labels."""
Holding = dict[int, object]


CLOSURES = 5
"""How many of the newest closures tell the pace."""

PACE_NUDGES = 3
"""How many of the newest nudges must have led to progress."""


@value
class Estimate:
    """How long the open tasks will take, in milliseconds; None if there is no estimate, and `reason` says why."""

    remaining: int | None
    reason: str = ""


class Pace:
    """The newest closures, and whether nudges helped; in ms of a clock that stands still while nobody works."""

    def __init__(self) -> None:
        self._start: int | None = None
        self._closures: deque[int] = deque(maxlen=CLOSURES + 1)
        self._helped: deque[bool | None] = deque(maxlen=PACE_NUDGES)
        self._in_vain = 0

    def began(self, at: int) -> None:
        """Note the time of a change of the plan; the first one starts the clock."""
        self._start = at if self._start is None else self._start

    def closed(self, at: int) -> None:
        self._closures.append(at)

    def changed(self, *, is_progress: bool) -> None:
        """Count a change of the plan; one that is progress means that the nudge before it helped."""
        if is_progress:
            self._in_vain = 0
            if self._helped:
                self._helped[-1] = True

    def nudged(self) -> None:
        self.let_go()
        self._helped.append(None)
        self._in_vain += 1

    def let_go(self) -> None:
        """Count that the agent was let go, or told to go on once more: the nudge before it did not help."""
        if self._helped and self._helped[-1] is None:
            self._helped[-1] = False

    def estimate(self, counts: PlanProgress) -> Estimate:
        left = counts.total - counts.closed
        if not left:
            return Estimate(None, "all tasks are closed" if counts.total else "the plan is empty")
        if len(self._closures) < CLOSURES:
            return Estimate(None, f"no estimate: fewer than {CLOSURES} tasks were closed")
        if False in self._helped:
            return Estimate(None, f"no estimate: {self._fruitless()}")
        since = self._closures[0] if len(self._closures) > CLOSURES else self._start or 0
        if self._closures[-1] == since:
            return Estimate(None, f"no estimate: the last {CLOSURES} tasks were closed at once")
        return Estimate(left * (self._closures[-1] - since) // CLOSURES)

    def _fruitless(self) -> str:
        if self._in_vain:
            return f"told to go on {'once' if self._in_vain == 1 else f'{self._in_vain} times'} without progress"
        return f"{list(self._helped).count(False)} of the last {PACE_NUDGES} times told to go on, no progress"


MIN_EVENTS = 3
"""How many events a curve of the open tasks needs."""


class MarkKind(Enum):
    """What happened at a moment, as its sign; later members are the more important ones."""

    CHANGE = "●"
    NUDGE = "◆"
    PERSON = "▲"
    LABEL = "⚑"
    LET_GO = "■"


@value
class TimeMark:
    at: int
    kind: MarkKind
    event: Event
    label: str = ""


@value
class Period:
    start: int
    end: int
    status: Status


@value
class TaskStats:
    """A task in its newest version, and its periods in order; they do not overlap.

    `is_removed` means that the plan no longer has it. `tokens` and `cost`, in dollars, are None if it is not known how
    much it took. `nudges` is how often the agent was told to go on with it.
    """

    task: Task
    phase: str
    periods: tuple[Period, ...] = ()
    is_removed: bool = False
    tokens: int | None = None
    cost: float | None = None
    nudges: int = 0

    def total(self, status: Status) -> int:
        return sum(each.end - each.start for each in self.periods if each.status is status)

    @property
    def worked(self) -> int | None:
        was_started = any(each.status is Status.IN_PROGRESS for each in self.periods)
        return self.total(Status.IN_PROGRESS) if was_started else None


@value
class Stats:
    """The pictures' data. `times` are those of all events, and the end; `open_steps` begin with the first plan.

    `tasks` are those of the plan, in order, then the removed ones, in the order of their removal. `tokens` and `cost`
    are those in all, None if they are not known; not all of them belong to a task.
    """

    times: tuple[int, ...]
    open_steps: tuple[tuple[int, int], ...]
    tasks: tuple[TaskStats, ...]
    marks: tuple[TimeMark, ...]
    progress: PlanProgress
    estimate: Estimate
    tokens: int | None = None
    cost: float | None = None

    @property
    def open(self) -> int:
        return self.progress.total - self.progress.closed

    @property
    def has_course(self) -> bool:
        return len(self.times) > MIN_EVENTS

    def of_kind(self, kind: MarkKind) -> list[TimeMark]:
        return [mark for mark in self.marks if mark.kind is kind]


MAX_TASKS_READ = 40_000
"""How many tasks are read, in the plans of all events: reading a plan takes time for each of them."""


def readable(newest_first: Iterable[Event]) -> Iterator[Event]:
    """Yield as many of the newest events as can be read in little time, at least one of them with a plan."""
    left, has_plan = MAX_TASKS_READ, False
    for event in newest_first:
        yield event
        left -= 1
        if isinstance(event.fact, PlanChanged):
            left -= len(event.fact.plan.tasks)
            has_plan = True
        if left < 0 and has_plan:
            return


def session_stats(
    oldest_first: Sequence[Event],
    now: int,
    labels: Mapping[str, str],
    requests: Sequence[TokenUse] = (),
    requesting: Container[str] = (),
) -> Stats | None:
    """Return the statistics of a branch until `now`; None if its plan never had a task.

    `labels` are the labels by event id. `requests` are all those of the agents `requesting`, in the order of their
    times. What other agents have used is in their events, if it is known.
    """
    collector = StatsCollector(labels)
    for event in oldest_first:
        collector.add(event)
    if not collector.had_tasks:
        return None
    collector.advance(now)
    usage = plan_usage(oldest_first, now, requesting)
    used = added(usage.total, total_usage(requests))
    return Stats(
        tuple(collector.times),
        tuple(collector.open_steps.items()),
        tuple(_with_usage(collector.finished_tasks(), requests, usage.tasks)),
        tuple(collector.marks),
        progress(collector.plan),
        collector.pace.estimate(progress(collector.plan)),
        used.tokens,
        used.cost,
    )


class _TaskRecord:
    """A task while events are read: its finished periods, and since when the current one lasts."""

    __slots__ = ("periods", "since", "status")

    def __init__(self) -> None:
        self.periods: list[Period] = []
        self.status = Status.PENDING
        self.since = 0

    def set_status(self, status: Status, at: int) -> None:
        if status is self.status:
            return
        self.finish(at)
        self.status, self.since = status, at

    def finish(self, at: int) -> None:
        self.periods = self.periods_until(at)

    def periods_until(self, at: int) -> list[Period]:
        if self.status in (Status.IN_PROGRESS, Status.BLOCKED):
            return [*self.periods, Period(self.since, at, self.status)]
        return self.periods


class StatsCollector:
    """What was found in the events of a branch so far. `labels` are the labels by event id."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        self.plan = Plan()
        self.times: list[int] = []
        self.open_steps: dict[int, int] = {}
        self.marks: list[TimeMark] = []
        self.pace = Pace()
        self.had_tasks = False
        self._labels = labels
        self._idle = 0
        self._open: int | None = None
        self._left = self._at_work = 0
        self._records: dict[Location, _TaskRecord] = {}
        self._removed: list[TaskStats] = []

    def add(self, event: Event) -> None:
        at = self.advance(event.at)
        match event.fact:
            case PlanChanged() as fact:
                self._mark(at, MarkKind.PERSON if event.by_person else MarkKind.CHANGE, event)
                self._change_plan(at, fact.plan)
                self.pace.changed(is_progress=fact.drift == 0)
            case Nudged(of_subagent=of_subagent):
                self._mark(at, MarkKind.NUDGE, event)
                if not of_subagent:
                    self.pace.nudged()
            case Tripped():
                self._mark(at, MarkKind.LET_GO, event)
                self.pace.let_go()
            case _:
                # A directive, a label, or a fact about a run.
                pass
        if event.id in self._labels:
            self.marks.append(TimeMark(at, MarkKind.LABEL, event, self._labels[event.id]))

    def advance(self, at: int) -> int:
        """Move to a time, unless it is earlier than the last one, and return the time then."""
        if self.times:
            at = max(at, self.times[-1])
            if at - self.times[-1] > MIN_BREAK_MS and not self._at_work:
                self._idle += at - self.times[-1]
        self.times.append(at)
        return at

    def finished_tasks(self) -> list[TaskStats]:
        """Return all tasks with their periods until the last time."""
        # Plans of earlier versions have no numbers; these are the ones that other commands show.
        plan = numbered(self.plan)
        return [*(self._stats(plan, location) for location in task_locations(plan)), *self._removed]

    def _mark(self, at: int, kind: MarkKind, event: Event) -> None:
        self.marks.append(TimeMark(at, kind, event))

    def periods(self, location: Location, at: int) -> tuple[Period, ...]:
        """Return the periods of the task at a location of the plan until a time."""
        return tuple(self._records[location].periods_until(at))

    def _stats(self, plan: Plan, location: Location) -> TaskStats:
        periods = self.periods(location, self.times[-1])
        return TaskStats(task_at(plan, location), plan.phases[location[0]].name, periods)

    def _change_plan(self, at: int, plan: Plan) -> None:
        places = differing_in_place(self.plan, plan)
        if places is None:
            self._match(at, plan)
        else:
            for location in places:
                self._set(self._records[location], task_at(self.plan, location), task_at(plan, location), at)
        self.plan = plan
        self.pace.began(at - self._idle)
        if self._left != self._open:
            # The last change of one moment counts.
            self.open_steps[at] = self._open = self._left

    def _set(self, record: _TaskRecord, was: Task | None, task: Task, at: int) -> None:
        """Note the status of a task, and of what it was in the plan before."""
        if was is not None and was.status.is_open and not task.status.is_open:
            self.pace.closed(at - self._idle)
        record.set_status(task.status, at)
        self._left += task.status.is_open - (was is not None and was.status.is_open)
        self._at_work += (task.status is Status.IN_PROGRESS) - (was is not None and was.status is Status.IN_PROGRESS)

    def _match(self, at: int, plan: Plan) -> None:
        match = match_plans(self.plan, plan)
        self._removed += [
            replace(self._stats(match.before, location), is_removed=True) for location in removed_locations(match)
        ]
        records: dict[Location, _TaskRecord] = {}
        for location in task_locations(plan):
            task, origin = task_at(plan, location), match.origins.get(location)
            record = records[location] = _TaskRecord() if origin is None else self._records[origin]
            self._set(record, match.earlier(location), task, at)
            self.had_tasks = True
        self._left = sum(task.status.is_open for task in plan.tasks)
        self._at_work = sum(task.status is Status.IN_PROGRESS for task in plan.tasks)
        self._records = records


def _with_usage(
    tasks: Sequence[TaskStats], requests: Sequence[TokenUse], found: Mapping[int, TaskUsage]
) -> Iterator[TaskStats]:
    """The tasks with their nudges, and with what the requests and the events say that they took."""
    spans = [[(each.start, each.end) for each in entry.periods if each.status is Status.IN_PROGRESS] for entry in tasks]
    for entry, requested in zip(tasks, usage_within(spans, requests), strict=True):
        of_events = found.get(entry.task.number, TaskUsage())
        used = added(of_events.usage, requested)
        yield replace(entry, tokens=used.tokens, cost=used.cost, nudges=of_events.nudges)


DECIMALS = 6
"""Of an amount in dollars."""

NO_STATS: Data = {
    **dict.fromkeys(("from", "to")),
    **dict.fromkeys(("closed", "total"), 0),
    **{name: [] for name in ("open", "tasks", "nudges", "let_goes", "changes_by_people", "labels")},
    "estimate": {"remaining_ms": None, "reason": "the plan is empty"},
    **dict.fromkeys(("tokens", "cost")),
}
"""The statistics of a plan that never had a task."""


def stats_data(stats: Stats, when: When) -> Data:
    def marks(kind: MarkKind) -> list[Data]:
        return [event_data(mark.event, when) | _details(mark) for mark in stats.of_kind(kind)]

    return {
        "from": when(stats.times[0]),
        "to": when(stats.times[-1]),
        "closed": stats.progress.closed,
        "total": stats.progress.total,
        "open": [{"at": when(at), "count": count} for at, count in stats.open_steps],
        "tasks": [_task_data(entry, when) for entry in stats.tasks],
        "nudges": marks(MarkKind.NUDGE),
        "let_goes": marks(MarkKind.LET_GO),
        "changes_by_people": marks(MarkKind.PERSON),
        "labels": marks(MarkKind.LABEL),
        "estimate": {"remaining_ms": stats.estimate.remaining, "reason": stats.estimate.reason or None},
        "tokens": stats.tokens,
        "cost": _dollars(stats.cost),
    }


def _task_data(entry: TaskStats, when: When) -> Data:
    return {
        "number": entry.task.number or None,
        "text": entry.task.text,
        "status": entry.task.status.value,
        "phase": entry.phase,
        "removed": entry.is_removed,
        "in_progress_ms": entry.worked,
        "blocked_ms": entry.total(Status.BLOCKED),
        "tokens": entry.tokens,
        "cost": _dollars(entry.cost),
        "nudges": entry.nudges,
        "periods": [
            {"from": when(each.start), "to": when(each.end), "status": each.status.value} for each in entry.periods
        ],
    }


def _dollars(cost: float | None) -> float | None:
    """Return a sum of amounts without the digits that only the addition has caused."""
    return None if cost is None else round(cost, DECIMALS)


def _details(mark: TimeMark) -> Data:
    match mark.event.fact:
        case _ if mark.kind is MarkKind.LABEL:
            return {"label": mark.label}
        case Nudged(count, of_subagent=of_subagent):
            return {"count": count, "of_subagent": of_subagent}
        case Tripped(bound, limit):
            return {"bound": bound.value, "limit": limit}
        case _:
            return {}


TASKS, CHECKS, NUDGES, STOPS = "tasks", "checks", "nudges", "stops"
TAKEN, LOST, TAKEOVERS, FAILED, ENDED = "taken", "lost", "takeovers", "failed", "ended"
TOKENS, COST = "tokens", "cost"

OTHER = "other"
MAX_CHARACTERS = 100


class BoundedNames:
    """Gives the first `limit` names as they are, and `other` for all that follow. Long names are cut."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: set[str] = set()

    def of(self, name: str) -> str:
        name = name[:MAX_CHARACTERS]
        if name in self._known or len(self._known) < self._limit:
            self._known.add(name)
            return name
        return OTHER


class PlanTally:
    """Counts events into `counts`, from the state `plan` and `used` on. `names` bound those of agents and of models."""

    def __init__(
        self,
        counts: MutableMapping[Key, float],
        plan: Plan,
        used: Mapping[str, AgentUsage],
        names: tuple[BoundedNames, BoundedNames],
    ) -> None:
        self._counts = counts
        self._agents, self._models = names
        self._plan = numbered(plan)
        self._used = dict(used)
        self._lost: set[tuple[str, int]] = set()
        self._fails: dict[tuple[str, int], int] = {}

    def add(self, event: Event) -> None:
        if event.usage is not None and event.author.agent:
            self._use(event.author, event.usage)
        match event.fact:
            case PlanChanged(plan=plan):
                self._change(numbered(plan))
            case Nudged():
                self._count(NUDGES, ())
            case Tripped(bound=bound):
                self._count(STOPS, (str(bound.value),))
            case RunTaken(run=run, hand=hand):
                self._count(TAKEN, ())
                if (run, hand) in self._lost:
                    self._lost.remove((run, hand))
                    self._count(TAKEOVERS, ())
            case RunLost(run=run, hand=hand):
                self._count(LOST, ())
                self._lost.add((run, hand))
            case RunReleased(run=run, hand=hand, fails=fails):
                self._fail((run, hand), fails)
            case RunEnded(run=run, hand=hand, state=state, fails=fails):
                self._count(ENDED, (str(state.value),))
                # An agent that ended with open tasks has failed, too, and is not tried again.
                self._fail((run, hand), fails, ended=state is LeaseState.FAILED and (run, hand) not in self._lost)
            case _:
                pass

    def _fail(self, hand: tuple[str, int], fails: int, *, ended: bool = False) -> None:
        if ended or fails > self._fails.get(hand, 0):
            self._count(FAILED, ())
        self._fails[hand] = fails

    def _change(self, plan: Plan) -> None:
        earlier = {task.number: task for task in self._plan.tasks}
        for task in plan.tasks:
            before, proof = earlier.get(task.number), task.proof
            if before is None:
                # Tasks that are closed when they are added were done elsewhere.
                continue
            if before.status.is_open and not task.status.is_open:
                self._count(TASKS, (str(task.status.value),))
            if proof and (before.proof is None or proof.at != before.proof.at):
                self._count(CHECKS, (str(proof.result.value),))
        if plan.proof and (self._plan.proof is None or plan.proof.at != self._plan.proof.at):
            self._count(CHECKS, (str(plan.proof.result.value),))
        self._plan = plan

    def _use(self, author: Author, used: AgentUsage) -> None:
        """Count what an agent has used since its last event: usage is cumulative."""
        spent = since(self._used.get(author.agent, UNKNOWN), used)
        self._used[author.agent] = used
        agent, model = self._agents.of(author.agent.partition(":")[0]), self._models.of(author.model)
        for kind, tokens in (("input", spent.tokens_in), ("output", spent.tokens_out)):
            if tokens:
                self._count(TOKENS, (agent, model, kind), tokens)
        if spent.cost:
            self._count(COST, (agent, model), spent.cost)

    def _count(self, counted: str, labels: tuple[str, ...], amount: float = 1) -> None:
        self._counts[counted, labels] = self._counts.get((counted, labels), 0) + amount


QUEUED, RUNNING, WAITING, PAUSED, DELAYED = "queued", "running", "waiting", "paused", "delayed"
STATES = (QUEUED, DELAYED, RUNNING, WAITING, PAUSED)
UP, DRAINING, SILENT = "up", "draining", "silent"
WORKER_STATES = (UP, DRAINING, SILENT)

COUNTERS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    TASKS: ("tildone_tasks_closed_total", "Tasks that were completed or abandoned.", ("status",)),
    CHECKS: ("tildone_checks_total", "Checks that were run.", ("result",)),
    NUDGES: ("tildone_nudges_total", "Automatic continuations of agents.", ()),
    STOPS: ("tildone_stops_total", "Agents that were let go because a bound was reached.", ("bound",)),
    TAKEN: ("tildone_runs_taken_total", "Attempts that workers have begun.", ()),
    LOST: ("tildone_runs_lost_total", "Attempts whose worker was lost.", ()),
    TAKEOVERS: ("tildone_takeovers_total", "Lost runs that another attempt has continued.", ()),
    FAILED: ("tildone_attempts_failed_total", "Attempts whose agent failed.", ()),
    ENDED: ("tildone_runs_ended_total", "Runs that have ended.", ("state",)),
    TOKENS: ("tildone_tokens_total", "Tokens that agents have used.", ("agent", "model", "type")),
    COST: ("tildone_cost_usd_total", "Cost of the tokens, in US dollars.", ("agent", "model")),
}
"""The names of the counters, what they count, and their labels."""


@value
class FleetNow:
    """A fleet at a time. `silent_after` is how long a worker may be silent, in milliseconds; `size` is in bytes."""

    leases: Sequence[Lease]
    workers: Sequence[WorkerInfo]
    now: int
    silent_after: int
    size: int


def fleet_families(fleet: FleetNow) -> list[Family]:
    states = Counter(_state(lease, fleet.now) for lease in fleet.leases)
    workers = Counter(_worker_state(worker, fleet) for worker in fleet.workers)
    queued = (lease for lease in fleet.leases if _state(lease, fleet.now) == QUEUED)
    longest = max((fleet.now - max(lease.since, lease.not_before) for lease in queued), default=0)
    slots = sum(worker.slots for worker in fleet.workers if _worker_state(worker, fleet) != SILENT)
    return [
        _by_label("tildone_runs", "Hands of runs that have not ended.", "state", STATES, states),
        _by_label("tildone_workers", "Workers.", "state", WORKER_STATES, workers),
        _gauge("tildone_slots", "Slots of the workers that are not silent.", slots),
        _gauge("tildone_slots_used", "Slots in use.", states[RUNNING]),
        _gauge("tildone_queue_oldest_seconds", "The longest wait for a worker so far.", max(longest, 0) / 1000),
        _gauge("tildone_store_bytes", "Size of the store.", fleet.size),
    ]


def counter_families(counts: Mapping[Key, float]) -> list[Family]:
    families = []
    for counted, (name, text, labels) in COUNTERS.items():
        found = sorted((values, amount) for (kind, values), amount in counts.items() if kind == counted)
        if not labels and not found:
            found = [((), 0)]
        samples = tuple(Sample(amount, tuple(zip(labels, values, strict=True))) for values, amount in found)
        families.append(Family(name, Kind.COUNTER, text, samples))
    return families


def session_families(states: Mapping[str, int], questions: int) -> list[Family]:
    """Return the gauges of sessions. `questions` are those of agents and of runs."""
    return [
        _by_label("tildone_sessions", "Plans in the store.", "state", tuple(states), states),
        _gauge("tildone_questions", "Questions that wait for a person.", questions),
    ]


def _state(lease: Lease, now: int) -> str:
    match lease.state:
        case LeaseState.OPEN if lease.is_held:
            return RUNNING
        case LeaseState.OPEN:
            return DELAYED if lease.not_before > now else QUEUED
        case state:
            return str(state.value)


def _worker_state(worker: WorkerInfo, fleet: FleetNow) -> str:
    if fleet.now - worker.seen > fleet.silent_after:
        return SILENT
    return UP if worker.request is LeaseRequest.NOTHING else DRAINING


def _gauge(name: str, text: str, amount: float) -> Family:
    return Family(name, Kind.GAUGE, text, (Sample(amount),))


def _by_label(name: str, text: str, label: str, values: Iterable[str], amounts: Mapping[str, int]) -> Family:
    """Return a gauge with a figure for each value of its label: one that is absent could not be told from 0."""
    samples = tuple(Sample(amounts.get(each, 0), ((label, each),)) for each in values)
    return Family(name, Kind.GAUGE, text, samples)


MAX_EVENTS_READ = 500
"""Among how many events, the newest first, is looked for who set a task aside. Beyond them, it was an agent."""


def held_up_by_agents(plan: Plan, history: Callable[[], Iterable[Event]]) -> list[Task]:
    """Return the tasks of a plan that an agent has set aside although they have checks.

    The newest change of a task, or of those that it waits for, decides. `history` returns the events of the plan, the
    newest first; it is called only if tasks are set aside.
    """
    found = held_up(plan)
    if not found:
        return []
    undecided = {task.number: numbers for task, numbers in found}
    by_persons: set[int] = set()
    newer: Event | None = None
    after: Holding = {}
    for event in islice(history(), MAX_EVENTS_READ):
        if isinstance(event.fact, PlanChanged):
            tasks = numbered(event.fact.plan).tasks
            holding: Holding = {task.number: (task.status, task.after, task.notes) for task in tasks}
            by_persons |= _decided(undecided, newer, after, holding)
            newer, after = event, holding
        if event.parent is None:
            by_persons |= _decided(undecided, newer, after, {})
    return [task for task, _ in found if task.number not in by_persons]


def describe_held_up(tasks: Iterable[Task]) -> str:
    """Return what a person is told of the first of these tasks; empty without any."""
    for task in tasks:
        check = "" if task.check is None else f" (check: {printable(check_text(task.check))})"
        return f"the agent set aside #{task.number}{check}"
    return ""


def _decided(undecided: dict[int, frozenset[int]], event: Event | None, after: Holding, before: Holding) -> set[int]:
    """Take out the tasks that an event decides about; return those that a person has set aside."""
    touched = {number for number in after if after[number] != before.get(number)}
    decided = {number for number, deciding in undecided.items() if deciding & touched}
    for number in decided:
        del undecided[number]
    return decided if event is not None and event.by_person else set()
