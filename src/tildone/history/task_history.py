"""The life of every task on a branch: what happened to it, through whom, and how long it was worked on."""

from __future__ import annotations

from tildone.core.plan import Plan, Task
from tildone.history.changes import Change, ChangeKind, removed_locations, task_changes
from tildone.history.durations import finished_durations, in_progress_since
from tildone.history.matching import match_plans, task_at, task_locations
from tildone.log.events import PlanChanged
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.history.durations import StartTimes
    from tildone.history.matching import Location, PlanMatch
    from tildone.log.events import Event

_CLOSING = frozenset({ChangeKind.COMPLETED, ChangeKind.DROPPED, ChangeKind.CLOSED})
_STANDING = _CLOSING | {ChangeKind.BLOCKED, ChangeKind.MARKED, ChangeKind.REOPENED}
_STANDING |= {ChangeKind.PAUSED, ChangeKind.STARTED}


@value
class TaskStep:
    """What an event did to a task; `took` is how long it had been in progress, if that ended here and is known."""

    event: Event
    changes: tuple[Change, ...]
    took: int | None = None

    def has(self, kinds: frozenset[ChangeKind]) -> bool:
        """Whether one of the changes is of such a kind."""
        return any(change.what in kinds for change in self.changes)


@value
class TaskHistory:
    """A task as it is at the end of a branch, or was when it left the plan, with all that happened to it.

    `position` is where it stands in the whole plan, None if it is not in it. `since` is when it was last put in
    progress, if it still is.
    """

    task: Task
    phase: str
    position: int | None
    steps: tuple[TaskStep, ...]
    since: int | None = None

    @property
    def added(self) -> TaskStep:
        """The step that brought it."""
        return self.steps[0]

    @property
    def stood(self) -> TaskStep | None:
        """The step that gave it the status it has, if it was not added with it."""
        return next((step for step in reversed(self.steps) if step.has(_STANDING)), None)

    @property
    def closed(self) -> TaskStep | None:
        """The step that closed it; None while it is open."""
        closing = (step for step in reversed(self.steps) if step.has(_CLOSING))
        return None if self.task.status.is_open else next(closing, None)

    @property
    def lasted(self) -> int | None:
        """The milliseconds from when it was added to when it was closed; None when it was not, or a clock went back."""
        began, closed = self.added.event.at, self.closed
        return closed.event.at - began if closed and closed.event.at >= began else None

    def worked_on(self, now: int) -> int | None:
        """The milliseconds it was in progress, all stretches together; None if it never was, or nobody knows."""
        stretches = [step.took for step in self.steps if step.took is not None]
        if self.since is not None and self.since <= now:
            stretches.append(now - self.since)
        return sum(stretches) if stretches else None


def task_histories(oldest_first: Iterable[Event]) -> list[TaskHistory]:
    """Every task that was on a branch: first those of its plan, in order, then those that left it, the last one first.

    A task is followed wherever it is moved. One that gets another text is another task.
    """
    plan = Plan()
    active: StartTimes = {}
    steps: dict[Location, tuple[TaskStep, ...]] = {}
    left: list[TaskHistory] = []
    for event in oldest_first:
        if isinstance(event.fact, PlanChanged):
            match = match_plans(plan, event.fact.plan)
            left += _departures(match, steps, active, event)
            steps = _continued(match, steps, active, event)
            active = in_progress_since(match, active, event.at)
            plan = event.fact.plan
    here = [
        _life(plan, spot, position, steps[spot], active.get(spot)) for position, spot in enumerate(task_locations(plan))
    ]
    return here + left[::-1]


def _life(
    plan: Plan, spot: Location, position: int | None, steps: tuple[TaskStep, ...], since: int | None = None
) -> TaskHistory:
    return TaskHistory(task_at(plan, spot), plan.phases[spot[0]].name, position, steps, since)


def _departures(
    match: PlanMatch, steps: dict[Location, tuple[TaskStep, ...]], active: StartTimes, event: Event
) -> Iterable[TaskHistory]:
    for spot in removed_locations(match):
        since = active.get(spot)
        took = event.at - since if since is not None and since <= event.at else None
        removed = TaskStep(event, (Change(ChangeKind.REMOVED, task_at(match.before, spot).text),), took)
        yield _life(match.before, spot, None, (*steps[spot], removed))


def _continued(
    match: PlanMatch, steps: dict[Location, tuple[TaskStep, ...]], active: StartTimes, event: Event
) -> dict[Location, tuple[TaskStep, ...]]:
    """The steps of every task of the later plan, by where it is there."""
    happened, took = task_changes(match), finished_durations(match, active, event.at)
    found: dict[Location, tuple[TaskStep, ...]] = {}
    for spot in task_locations(match.after):
        origin = match.origins.get(spot)
        before = steps[origin] if origin is not None else ()
        more = happened.get(spot)
        found[spot] = (*before, TaskStep(event, tuple(more), took.get(spot))) if more else before
    return found
