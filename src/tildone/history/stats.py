"""What the history of a plan amounts to: open tasks over time, when each task was worked on, nudges and let-goes.

One pass over the events of a branch. Times never go back: an event whose clock was behind counts as simultaneous with
the one before it.
"""

from __future__ import annotations

from enum import Enum

from tildone.core.numbers import numbered
from tildone.core.plan import Plan, Status, Task
from tildone.core.query import progress
from tildone.history.changes import removed_locations
from tildone.history.matching import match_plans, task_at, task_locations
from tildone.history.pace import Pace
from tildone.history.requests import total_usage, usage_within
from tildone.history.usage import TaskUsage, plan_usage
from tildone.log.events import Nudged, PlanChanged, Tripped
from tildone.log.usage import added
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value
from tildone.views.time_axis import MIN_BREAK_MS

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from tildone.core.query import PlanProgress
    from tildone.history.matching import Location
    from tildone.history.pace import Estimate
    from tildone.history.requests import TokenUse
    from tildone.log.events import Event

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
    """A moment on the time axis. `label` is that of a `LABEL`."""

    at: int
    kind: MarkKind
    event: Event
    label: str = ""


@value
class Period:
    """A time in which a task was in progress, or blocked."""

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
        """The milliseconds in progress; None if it never was."""
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
        """The number of open tasks at the end."""
        return self.progress.total - self.progress.closed

    @property
    def has_course(self) -> bool:
        """Whether there are enough events for a curve of the open tasks."""
        return len(self.times) > MIN_EVENTS

    def of_kind(self, kind: MarkKind) -> list[TimeMark]:
        """Return the marks of one kind, in order."""
        return [mark for mark in self.marks if mark.kind is kind]


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
    collector = _Collector(labels)
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
    """A task while events are read: its finished periods, and the start of the current one."""

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
        if self.status in (Status.IN_PROGRESS, Status.BLOCKED):
            self.periods.append(Period(self.since, at, self.status))


class _Collector:
    """What was found in the events so far."""

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
            if at - self.times[-1] > MIN_BREAK_MS and not _at_work(self.plan):
                self._idle += at - self.times[-1]
        self.times.append(at)
        return at

    def finished_tasks(self) -> tuple[TaskStats, ...]:
        """End every period, and return all tasks."""
        at = self.times[-1]
        # Plans of earlier versions have no numbers; these are the ones that other commands show.
        plan = numbered(self.plan)
        current = (_task_stats(plan, location, self._records[location], at) for location in task_locations(plan))
        return (*current, *self._removed)

    def _mark(self, at: int, kind: MarkKind, event: Event) -> None:
        self.marks.append(TimeMark(at, kind, event))

    def _change_plan(self, at: int, plan: Plan) -> None:
        match = match_plans(self.plan, plan)
        for location in removed_locations(match):
            gone = _task_stats(match.before, location, self._records[location], at)
            self._removed.append(replace(gone, is_removed=True))
        records: dict[Location, _TaskRecord] = {}
        for location in task_locations(plan):
            task, origin = task_at(plan, location), match.origins.get(location)
            record = records[location] = _TaskRecord() if origin is None else self._records[origin]
            if origin is not None and task_at(match.before, origin).status.is_open and not task.status.is_open:
                self.pace.closed(at - self._idle)
            record.set_status(task.status, at)
            self.had_tasks = True
        self._records, self.plan = records, plan
        self.pace.began(at - self._idle)
        counts = progress(plan)
        left = counts.total - counts.closed
        if left != self._open:
            # The last change of one moment counts.
            self.open_steps[at] = self._open = left


def _at_work(plan: Plan) -> bool:
    return any(task.status is Status.IN_PROGRESS for task in plan.tasks)


def _task_stats(plan: Plan, location: Location, record: _TaskRecord, at: int) -> TaskStats:
    record.finish(at)
    return TaskStats(task_at(plan, location), plan.phases[location[0]].name, tuple(record.periods))


def _with_usage(
    tasks: Sequence[TaskStats], requests: Sequence[TokenUse], found: Mapping[int, TaskUsage]
) -> Iterator[TaskStats]:
    """The tasks with their nudges, and with what the requests and the events say that they took."""
    spans = [[(each.start, each.end) for each in entry.periods if each.status is Status.IN_PROGRESS] for entry in tasks]
    for entry, requested in zip(tasks, usage_within(spans, requests), strict=True):
        of_events = found.get(entry.task.number, TaskUsage())
        used = added(of_events.usage, requested)
        yield replace(entry, tokens=used.tokens, cost=used.cost, nudges=of_events.nudges)
