"""What pages show of sessions, kept so that a change costs what it changes, however long the plan is.

Theory of operation. A view has followed a session up to a head. If the session has moved on from there, only the new
events are read; if it was moved elsewhere, the newest events are read again. Either way, the view notes which tasks
differ, under a version that grows, and which head each version had. A page names the head that it shows and gets what
differs since, or everything if the view has forgotten that head. Tasks that did not change are the same objects from
plan to plan, so to find what differs takes one comparison of addresses for each task.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from threading import RLock
from typing import TYPE_CHECKING

from tildone.app.opening import MAX_EVENTS_SEARCHED
from tildone.app.sessions import SessionRow
from tildone.base import replace
from tildone.base.ids import now
from tildone.log.store import Store
from tildone.plan.events import Event, Labelled, Nudged, PlanChanged, State, apply_event, by_id, labels, latest_state
from tildone.plan.gate import Patience
from tildone.plan.guard import PLAN
from tildone.plan.history.changes import Location, differing_in_place, task_at, task_locations
from tildone.plan.history.refs import short_ids
from tildone.plan.history.stats import StatsCollector, readable
from tildone.plan.history.timeline import describe_event
from tildone.plan.history.usage import UsageCounter
from tildone.plan.model import Phase, Plan, Status, Task, next_task, numbered, progress
from tildone.plan.text.amounts import usage_text
from tildone.screens.board.data import (
    PAGE_EVENTS,
    Data,
    TaskRows,
    bounds_data,
    check_data,
    claims_data,
    event_row,
    lane_data,
    plan_data,
)

if TYPE_CHECKING:
    from tildone.plan.history.timeline import PlanState

MAX_FOLLOWED = 50
"""How many events a view follows one by one; if there are more, it is read again."""

MAX_VERSIONS = 500
"""Of how many changes a view knows what differs since."""

MAX_VIEWS = 16

_every_field = attrgetter(*Task.__match_args__)


class SessionView:
    """The newest events of a session, its plan, lanes and bounds. Safe to use from several threads."""

    def __init__(self, store: Store, name: str, patience: Patience) -> None:
        self._store, self._name, self._patience = store, name, patience
        self._lock = RLock()
        self._state = State()
        self._tasks: dict[int, Task] = {}
        self._places: dict[int, Location] = {}
        self._to_rows, self._task_rows = TaskRows(self._tasks), dict[int, Data]()
        self._in_progress: set[int] = set()
        self._rows: list[Data] = []
        self._row_versions: dict[str, int] = {}
        self._version, self._read_version = 0, 0
        self._heads: OrderedDict[str | None, int] = OrderedDict()
        self._changes: deque[tuple[int, frozenset[int], bool]] = deque(maxlen=MAX_VERSIONS)
        self._begin(())

    @property
    def state(self) -> State:
        """The state at the head of the session."""
        with self._lock:
            self._follow()
            return self._state

    @property
    def newest_call(self) -> tuple[Event, ...]:
        """The event of the newest tool call, if there is one."""
        with self._lock:
            self._follow()
            return self._call

    def whole(self, row: SessionRow) -> Data:
        """Return everything that a page shows."""
        with self._lock:
            self._follow()
            more, worked = self._taken(self._tasks)
            shown = self._shown(self._rows)
            return {
                "plan": plan_data(self._state.plan, lambda task: self._task_row(task, worked)),
                "history": {"rows": shown, "before": self._rows[0]["parent"] if shown else None},
                "open": self._steps(0),
                **more,
                **self._shared(row),
            }

    def since(self, head: str | None, row: SessionRow) -> Data | None:
        """Return what differs since a head that a page shows; None if the view does not know it."""
        with self._lock:
            self._follow()
            version = self._heads.get(head)
            if version is None or self._version - version > len(self._changes):
                return None
            later = [(numbers, moved) for at, numbers, moved in self._changes if at > version]
            changed = {number for numbers, _ in later for number in numbers if number in self._tasks}
            # How long those in progress have been so has changed, too.
            changed |= self._in_progress
            plan = self._state.plan
            more, worked = self._taken(changed)
            events = [row for row in self._rows if self._row_versions[str(row["id"])] > version]
            data: Data = {
                "from": head,
                "tasks": [self._task_row(self._tasks[number], worked) for number in sorted(changed)],
                "check": check_data(PLAN, plan.check, plan.proof),
                "rows": self._shown(events),
                **more,
                **self._shared(row),
            }
            if any(moved for _, moved in later):
                data["order"] = [[phase.name, runs(task.number for task in phase.tasks)] for phase in plan.phases]
            if version < self._read_version:
                return data | {"open": self._steps(0)}
            times = [at for row in events if isinstance(at := row["at"], int)]
            return data | {"steps": self._steps(min(times)) if times else []}

    def _follow(self) -> None:
        head = self._store.session_head(self._name).head
        if head == self._state.head and self._heads:
            return
        self._version += 1
        self._differing, self._moved = set[int](), False
        found = self._newer(head)
        if found is None:
            self._read(head)
        for event in reversed(found or ()):
            self._add(event)
        self._changes.append((self._version, frozenset(self._differing), self._moved))
        self._heads[head] = self._version
        self._heads.move_to_end(head)
        while len(self._heads) > MAX_VERSIONS:
            self._heads.popitem(last=False)

    def _newer(self, head: str | None) -> list[Event] | None:
        """Return the events after the state, the newest first; None if they have to be read in another way."""
        if head is None or self._state.head is None:
            return None
        found: list[Event] = []
        for event in islice(self._store.history(self._name, head), MAX_FOLLOWED):
            if isinstance(event.fact, Labelled):
                # The row of another event has it.
                return None
            found.append(event)
            if event.parent == self._state.head:
                return found
        return None

    def _begin(self, events: Sequence[Event]) -> None:
        self._names = labels(events)
        self._stats, self._usage = StatsCollector(self._names), UsageCounter()
        self._told: PlanState = Plan(), {}
        self._call: tuple[Event, ...] = ()

    def _read(self, head: str | None) -> None:
        """Read as many of the newest events as take little time."""
        newest_first = list(readable(self._store.history(self._name, head))) if head else []
        state = latest_state(newest_first)
        events = _with_shared_tasks(newest_first[::-1], self._tasks)
        taken: Sequence[Mapping[int, object]] = self._of_tasks(self._tasks)
        before, rows = self._row_versions, {str(row["id"]): row for row in self._rows}
        self._begin(events)
        self._rows, self._row_versions = [], {}
        short = dict(short_ids(by_id(events)))
        plans = [event.fact.plan for event in events if isinstance(event.fact, PlanChanged)]
        is_partial = bool(events) and events[0].parent is not None
        if is_partial and plans:
            # The plan before the first one is unknown: assume that it was the same.
            self._told = plans[0], {}
        for event in events:
            self._tell(event, short)
        if is_partial and not self._call:
            older = islice(self._store.history(self._name, events[0].parent), MAX_EVENTS_SEARCHED)
            self._call = next(((event,) for event in older if _has_call(event)), ())
        # What the first one of these has changed is not known, either.
        del self._rows[: max(1, len(self._rows) - PAGE_EVENTS) if is_partial and len(self._rows) > 1 else -PAGE_EVENTS]
        for row in self._rows:
            event_id = str(row["id"])
            self._row_versions[event_id] = before[event_id] if rows.get(event_id) == row else self._version
        self._set_state(replace(state, plan=plans[-1]) if plans else state)
        # Another branch has other times and nudges.
        later: Sequence[Mapping[int, object]] = self._of_tasks(self._tasks)
        for was, becomes in zip(taken, later, strict=True):
            self._differing |= {key for key in was.keys() | becomes.keys() if was.get(key) != becomes.get(key)}
        self._read_version = self._version

    def _add(self, event: Event) -> None:
        [event] = _with_shared_tasks([event], self._tasks)
        self._tell(event, {})
        self._row_versions[event.id] = self._version
        upcoming = next_task(self._state.plan)
        if isinstance(event.fact, Nudged) and upcoming:
            # How often the agent was told to go on with it; one in progress is told with every difference.
            self._differing.add(upcoming[1].number)
        for row in self._rows[:-PAGE_EVENTS]:
            del self._row_versions[str(row["id"])]
        del self._rows[:-PAGE_EVENTS]
        self._set_state(apply_event(self._state, event))

    def _tell(self, event: Event, short: Mapping[str, str]) -> None:
        self._stats.add(event)
        self._usage.add(event)
        if _has_call(event):
            self._call = (event,)
        self._told, told = describe_event(event, self._told, short, self._patience.nudges)
        texts, durations = [text for text, _ in told], [duration for _, duration in told]
        self._rows.append(event_row(event, texts, durations, self._names.get(event.id)))

    def _set_state(self, state: State) -> None:
        before, self._state = self._state.plan, state
        places = differing_in_place(before, state.plan)
        known = self._tasks
        if places is not None:
            self._tasks = known | {task.number: task for task in (task_at(state.plan, at) for at in places)}
            numbers = {task_at(state.plan, at).number for at in places}
        else:
            self._tasks = {task.number: task for task in state.plan.tasks}
            self._places = dict(zip(self._tasks, task_locations(state.plan), strict=True))
            numbers = {number for number in known | self._tasks if known.get(number) is not self._tasks.get(number)}
        # What others wait for may be among them.
        waiting = {number for number, task in self._tasks.items() if task.after and not numbers.isdisjoint(task.after)}
        touching = [task for tasks in (known, self._tasks) for number in numbers if (task := tasks.get(number))]
        if any(task.touches for task in touching):
            waiting |= {number for number, task in self._tasks.items() if task.touches}
        self._differing |= numbers | waiting
        self._moved = self._moved or places is None
        for number in numbers | waiting:
            self._task_rows.pop(number, None)
        begun = {number for number in numbers & self._tasks.keys() if self._tasks[number].status is Status.IN_PROGRESS}
        self._in_progress = self._in_progress - numbers | begun
        self._to_rows = TaskRows(self._tasks)

    def _task_row(self, task: Task, worked: Mapping[int, int]) -> Data:
        """Return a task as data, which is kept until it differs, with the time for which it was in progress."""
        kept = self._task_rows.get(task.number)
        if kept is None:
            kept = self._task_rows[task.number] = self._to_rows.data(task)
        return kept if (time := worked.get(task.number)) is None else kept | {"worked": time}

    def _shown(self, rows: Iterable[Data]) -> list[Data]:
        return [row | {"head": row["id"] == self._state.head} for row in rows]

    def _of_tasks(
        self, numbers: Iterable[int]
    ) -> tuple[dict[int, list[list[object]]], dict[int, str], dict[int, int], dict[int, int]]:
        """Return the lanes of tasks, what they used, how often agents were told to go on with them, and their times."""
        lanes, used, told, worked = (
            dict[int, list[list[object]]](),
            dict[int, str](),
            dict[int, int](),
            dict[int, int](),
        )
        at = now()
        for number in numbers:
            task = self._tasks[number]
            periods = self._stats.periods(self._places[number], at)
            if periods:
                lanes[number] = lane_data(task, periods)
                spent = [each.end - each.start for each in periods if each.status is Status.IN_PROGRESS]
                worked |= {number: sum(spent)} if spent else {}
            taken = self._usage.taken(number, at)
            if taken is None:
                continue
            if text := usage_text(None, taken.usage.tokens, taken.usage.cost):
                used[number] = text
            if taken.nudges:
                told[number] = taken.nudges
        return lanes, used, told, worked

    def _taken(self, numbers: Iterable[int]) -> tuple[Data, dict[int, int]]:
        lanes, used, told, worked = self._of_tasks(numbers)
        return {"lanes": lanes, "used": used, "told": told}, worked

    def _steps(self, begin: int) -> list[list[int]]:
        """Return the steps of the open tasks since a time."""
        at, total = now(), progress(self._state.plan).total
        if not self._stats.had_tasks:
            return [[at, 0, total]] if total and not begin else []
        return [[at, count] for at, count in self._stats.open_steps.items() if at >= begin]

    def _shared(self, row: SessionRow) -> Data:
        """Return what is told of the session as a whole, however little has changed."""
        state, at = self._state, now()
        undo = next((row["id"] for row in reversed(self._rows) if row["kind"] in ("change", "person")), None)
        counts = progress(state.plan)
        estimate = self._stats.pace.estimate(counts) if self._stats.had_tasks else None
        remaining = estimate.remaining if estimate else None
        return {
            "head": state.head,
            "begins": self._stats.times[0] if self._stats.times else None,
            "directive": state.directive.value,
            "undo": undo,
            "can_undo": undo is not None,
            "can_redo": bool(self._store.session_head(self._name).redo),
            "bounds": bounds_data(state, self._patience, row.cost, at),
            "claims": claims_data(state.plan, self._store.records.claims(self._name)),
            "estimate": estimate
            and {
                "at": None if remaining is None else at + remaining,
                "reason": estimate.reason.removeprefix("no estimate: ") or None,
            },
        }


class SessionViews:
    """The views of the sessions that were asked for last."""

    def __init__(self, store: Store, patience: Patience) -> None:
        self._store, self._patience = store, patience
        self._lock = RLock()
        self._views: OrderedDict[str, SessionView] = OrderedDict()

    def __getitem__(self, name: str) -> SessionView:
        with self._lock:
            view = self._views.pop(name, None) or SessionView(self._store, name, self._patience)
            self._views[name] = view
            if len(self._views) > MAX_VIEWS:
                self._views.popitem(last=False)
            return view


def runs(numbers: Iterable[int]) -> str:
    """Return numbers in their order, with those that count up as a range: `3,1-2`."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def _has_call(event: Event) -> bool:
    return isinstance(event.fact, PlanChanged) and event.fact.call is not None


def _with_shared_tasks(oldest_first: Iterable[Event], known: Mapping[int, Task]) -> list[Event]:
    """Return events in whose plans a task that did not change is the same object as before."""
    events: list[Event] = []
    for event in oldest_first:
        shown = event
        if isinstance(event.fact, PlanChanged):
            plan = _with_known(numbered(event.fact.plan), known)
            known = {task.number: task for task in plan.tasks}
            shown = replace(event, fact=replace(event.fact, plan=plan))
        events.append(shown)
    return events


def _with_known(plan: Plan, known: Mapping[int, Task]) -> Plan:
    phases = [
        Phase(
            phase.name,
            tuple(
                [
                    was
                    if (was := known.get(task.number)) is task
                    or (was is not None and _every_field(was) == _every_field(task))
                    else task
                    for task in phase.tasks
                ]
            ),
        )
        for phase in plan.phases
    ]
    return replace(plan, phases=tuple(phases))
