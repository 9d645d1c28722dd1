"""Automatic removal of finished tasks after a delay.

A host calls `schedule` after every change of the plan, waits until `next_due`, and then removes tasks with `clear_due`.
Clearing does not call for another `schedule`: the remaining tasks keep their due times until the plan changes again.
"""

from __future__ import annotations

from tildone.core.guard import PLAN, is_unproved, reopened
from tildone.core.plan import Phase, Plan, Task
from tildone.core.query import TaskInPhase
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

DEFAULT_DELAY_MS = 60_000

TaskKey = tuple[str, str]
"""A task's phase and text."""


@value
class Schedule:
    """Finished tasks, and the time (in milliseconds) at which each is due to be cleared."""

    due: tuple[tuple[TaskKey, int], ...] = ()


@value
class ClearResult:
    """The plan after clearing, the tasks that are still scheduled, and the tasks that were removed."""

    plan: Plan
    schedule: Schedule
    removed: tuple[TaskInPhase, ...] = ()


def schedule(plan: Plan, previous: Schedule, now: int, delay_ms: int = DEFAULT_DELAY_MS) -> Schedule:
    """Return the schedule for the finished tasks of `plan`.

    Tasks that were in the `previous` schedule keep their due times; reopened tasks are dropped from it. With a delay of
    0, tasks are cleared in the next iteration of the host's event loop; with a negative delay, never.
    """
    if delay_ms < 0:
        return Schedule()
    due_times = dict(previous.due)
    finished = dict.fromkeys(
        (phase.name, task.text) for phase in plan.phases for task in phase.tasks if not task.status.is_open
    )
    return Schedule(tuple((key, due_times.get(key, now + delay_ms)) for key in finished))


def next_due(scheduled: Schedule) -> int | None:
    """Return when the next task is due; None if no task is scheduled."""
    return min((due for _, due in scheduled.due), default=None)


def without_unproved(scheduled: Schedule, plan: Plan, stale: AbstractSet[int]) -> Schedule:
    """Return the schedule without the done tasks whose checks have to pass again, whose numbers are `stale`.

    It is empty if the check of the plan has to pass: without tasks, nobody would be held to it.
    """
    if is_unproved(reopened(plan, stale & {PLAN})):
        return Schedule()
    kept = {(phase.name, task.text) for phase in plan.phases for task in phase.tasks if task.number in stale}
    return Schedule(tuple((key, at) for key, at in scheduled.due if key not in kept))


def clear_due(plan: Plan, scheduled: Schedule, now: int) -> ClearResult:
    """Remove the tasks that are due and, if any was removed, every phase without tasks.

    If several tasks have the same phase and text, only the first is removed; if the first is open, none is.
    """
    due = {key for key, at in scheduled.due if at <= now}
    later = Schedule(tuple((key, at) for key, at in scheduled.due if at > now))
    removed: list[TaskInPhase] = []
    phases = [replace(phase, tasks=_remaining_tasks(phase, due, removed)) for phase in plan.phases]
    if not removed:
        return ClearResult(plan, later)
    return ClearResult(Plan(tuple(phase for phase in phases if phase.tasks)), later, tuple(removed))


def _remaining_tasks(phase: Phase, due: set[TaskKey], removed: list[TaskInPhase]) -> tuple[Task, ...]:
    """The tasks that stay. Each key is used once and discarded from `due`; removed tasks are added to `removed`."""
    remaining = []
    for task in phase.tasks:
        key = phase.name, task.text
        if key in due and not task.status.is_open:
            removed.append(TaskInPhase(phase.name, task))
        else:
            remaining.append(task)
        due.discard(key)
    return tuple(remaining)
