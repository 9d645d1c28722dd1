"""The history of every task on a branch: its changes, who made them, how long it was in progress; and this as lines."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, value
from tildone.plan.events import PlanChanged
from tildone.plan.history.authors import describe_author, of_several_people, who
from tildone.plan.history.changes import (
    ENDING_KINDS,
    Change,
    ChangeKind,
    describe_change,
    finished_durations,
    in_progress_since,
    match_plans,
    removal,
    removed_locations,
    task_at,
    task_changes,
    task_locations,
)
from tildone.plan.model import Plan, Task, numbered
from tildone.plan.text.amounts import elapsed
from tildone.plan.text.lists import task_line
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import INDENT, Role, Span, clip_line, hanging_lines, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tildone.plan.events import Call, Event
    from tildone.plan.history.changes import Location, PlanMatch, StartTimes
    from tildone.plan.text.styles import Line, TextAndSuffix


_CLOSING_KINDS = frozenset({ChangeKind.COMPLETED, ChangeKind.DROPPED, ChangeKind.CLOSED})
_STATUS_KINDS = _CLOSING_KINDS | {ChangeKind.BLOCKED, ChangeKind.MARKED, ChangeKind.REOPENED}
_STATUS_KINDS |= {ChangeKind.PAUSED, ChangeKind.STARTED}
_CHECK_KINDS = frozenset({ChangeKind.CHECK_SET, ChangeKind.CHECK_CHANGED, ChangeKind.CHECK_REMOVED})


@value
class TaskStep:
    """The changes of a task by one event; `duration` is its time in progress in ms, if that ended here and is known."""

    event: Event
    changes: tuple[Change, ...]
    duration: int | None = None

    @property
    def call(self) -> Call | None:
        return self.event.fact.call if isinstance(self.event.fact, PlanChanged) else None

    def has(self, kinds: frozenset[ChangeKind]) -> bool:
        return any(change.kind in kinds for change in self.changes)


@value
class TaskHistory:
    """A task in its newest version, with its steps: `position` is None if it was removed, `since` if it is idle."""

    task: Task
    phase: str
    position: int | None
    steps: tuple[TaskStep, ...]
    since: int | None = None

    @property
    def added(self) -> TaskStep:
        return self.steps[0]

    @property
    def status_change(self) -> TaskStep | None:
        """The step that set its current status; None if it has been pending since it was added."""
        return next((step for step in reversed(self.steps) if step.has(_STATUS_KINDS)), None)

    @property
    def check_change(self) -> TaskStep | None:
        """The step that set, changed or removed its check last; None if it never had one."""
        return next((step for step in reversed(self.steps) if step.has(_CHECK_KINDS)), None)

    @property
    def closed(self) -> TaskStep | None:
        closing = (step for step in reversed(self.steps) if step.has(_CLOSING_KINDS))
        return None if self.task.status.is_open else next(closing, None)

    @property
    def lifetime(self) -> int | None:
        """Milliseconds from added to closed; None if it is open or the clock was set back."""
        began, closed = self.added.event.at, self.closed
        return closed.event.at - began if closed and closed.event.at >= began else None

    def time_in_progress(self, now: int) -> int | None:
        """Return the total milliseconds in progress; None if it never was or if that is unknown."""
        periods = [step.duration for step in self.steps if step.duration is not None]
        if self.since is not None and self.since <= now:
            periods.append(now - self.since)
        return sum(periods) if periods else None


def task_histories(oldest_first: Iterable[Event]) -> list[TaskHistory]:
    """Return every task of a branch: those of its plan, in order, then the removed ones, the latest first.

    A task keeps its history when it is moved or renamed. A task with another text and another number, or none, is
    another task.
    """
    plan = Plan()
    active: StartTimes = {}
    steps: dict[Location, tuple[TaskStep, ...]] = {}
    removed: list[TaskHistory] = []
    for event in oldest_first:
        if isinstance(event.fact, PlanChanged):
            match = match_plans(plan, event.fact.plan)
            removed += _removed_tasks(match, steps, active, event)
            steps = _extended_steps(match, steps, active, event)
            active = in_progress_since(match, active, event.at)
            plan = event.fact.plan
    # Plans of earlier versions have no numbers; these are the ones that other commands show.
    plan = numbered(plan)
    current = [
        _task_history(plan, location, position, steps[location], active.get(location))
        for position, location in enumerate(task_locations(plan))
    ]
    return current + removed[::-1]


MAX_ARGUMENT_CHARS = 200
"""How many characters of a call's arguments are shown where lines are not clipped."""

_TIMED = ENDING_KINDS | {ChangeKind.REMOVED}


def blame_lines(
    found: Sequence[TaskHistory],
    when: Callable[[int], str],
    short: Mapping[str, str],
    columns: int | None = None,
    *,
    whole: bool = False,
) -> list[Line]:
    """Return each task with the events that added it and set its status or, with `whole`, with all of its events."""
    lines: list[Line] = []
    with_person = of_several_people(step.event for entry in found for step in entry.steps)
    for entry in found:
        lines += [()] if lines and whole else []
        phase = (Span(f"  {printable(entry.phase)}", Role.MUTED),) if entry.phase else ()
        title = (*task_line(entry.task), *phase)
        lines.append(title if columns is None else clip_line(title, columns))
        for step in entry.steps if whole else _main_steps(entry):
            lead = (
                Span(INDENT),
                Span(printable(short[step.event.id]), Role.WARNING),
                Span(f"  {when(step.event.at)}  {who(step.event, with_person=with_person)}", Role.MUTED),
            )
            lines += hanging_lines(lead, _details(step) if whole else [_summary(step)], columns)
    return lines


def _main_steps(entry: TaskHistory) -> list[TaskStep]:
    """The steps that added the task, set its check and its status, and removed it."""
    removed = entry.steps[-1] if entry.position is None else None
    shown = {step.event.id for step in (entry.added, entry.check_change, entry.status_change, removed) if step}
    return [step for step in entry.steps if step.event.id in shown]


def _summary(step: TaskStep) -> TextAndSuffix:
    call = step.call
    brief = [
        describe_change(change) for change in step.changes if change.kind not in (ChangeKind.NOTED, ChangeKind.UNNOTED)
    ]
    tool = (Span(f"  {printable(call.tool)}", Role.DIM),) if call else ()
    return Span(", ".join(brief), Role.TEXT), (*_duration(step), *tool)


def step_text(step: TaskStep) -> str:
    """Return the changes of a step on one line."""
    return "; ".join(plain((text, *duration)) for text, duration in _described(step))


def _described(step: TaskStep) -> list[TextAndSuffix]:
    return [
        (Span(describe_change(change), Role.TEXT), _duration(step) if change.kind in _TIMED else ())
        for change in step.changes
    ]


def _details(step: TaskStep) -> list[TextAndSuffix]:
    details = _described(step)
    if step.event.author.agent:
        details.append((Span(f"by {describe_author(step.event.author)}", Role.DIM), ()))
    call = step.call
    if call:
        arguments = printable(call.arguments)
        shown = arguments if len(arguments) <= MAX_ARGUMENT_CHARS else f"{arguments[:MAX_ARGUMENT_CHARS]}…"
        details.append((Span(f"{printable(call.tool)} {shown}", Role.DIM), ()))
    return details


def _duration(step: TaskStep) -> Line:
    return () if step.duration is None else (Span(f" ({elapsed(step.duration)})", Role.MUTED),)


def _task_history(
    plan: Plan, location: Location, position: int | None, steps: tuple[TaskStep, ...], since: int | None = None
) -> TaskHistory:
    return TaskHistory(task_at(plan, location), plan.phases[location[0]].name, position, steps, since)


def _removed_tasks(
    match: PlanMatch, steps: dict[Location, tuple[TaskStep, ...]], active: StartTimes, event: Event
) -> Iterable[TaskHistory]:
    for location in removed_locations(match):
        since = active.get(location)
        duration = event.at - since if since is not None and since <= event.at else None
        removed = TaskStep(event, (removal(task_at(match.before, location)),), duration)
        yield _task_history(match.before, location, None, (*steps[location], removed))


def _extended_steps(
    match: PlanMatch, steps: dict[Location, tuple[TaskStep, ...]], active: StartTimes, event: Event
) -> dict[Location, tuple[TaskStep, ...]]:
    changed, durations = task_changes(match), finished_durations(match, active, event.at)
    found: dict[Location, tuple[TaskStep, ...]] = {}
    for location in task_locations(match.after):
        origin = match.origins.get(location)
        before = steps[origin] if origin is not None else ()
        more = changed.get(location)
        found[location] = (*before, TaskStep(event, tuple(more), durations.get(location))) if more else before
    return found
