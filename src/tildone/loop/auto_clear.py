"""Removing finished tasks from the list some time after they were finished.

A host calls `schedule` after every change of the plan, waits until `next_due`, and then lets `cleared` say which tasks
go. A clearing is not such a change: tasks that stay keep their due times until the plan is changed again.
"""

from __future__ import annotations

from tildone.core.plan import Phase, Plan, Task
from tildone.core.query import TaskInPhase
from tildone.value import replace, value

DEFAULT_DELAY_MS = 60_000

Key = tuple[str, str]
"""A task's phase and text."""


@value
class Schedule:
    """Finished tasks, and the time (in milliseconds) at which each is cleared."""

    due: tuple[tuple[Key, int], ...] = ()


@value
class Cleared:
    """The plan after a clearing, what is still scheduled, and each task that was removed."""

    plan: Plan
    waiting: Schedule
    gone: tuple[TaskInPhase, ...] = ()


def schedule(plan: Plan, before: Schedule, now: int, delay_ms: int = DEFAULT_DELAY_MS) -> Schedule:
    """When each finished task is cleared. A scheduled task keeps its time; one that was reopened loses it.

    A delay of 0 means the next iteration of the host's event loop; a negative delay clears nothing.
    """
    if delay_ms < 0:
        return Schedule()
    waiting = dict(before.due)
    finished = dict.fromkeys(
        (phase.name, task.text) for phase in plan.phases for task in phase.tasks if not task.status.is_open
    )
    return Schedule(tuple((key, waiting.get(key, now + delay_ms)) for key in finished))


def next_due(waiting: Schedule) -> int | None:
    """When the next task is cleared; None when none is scheduled."""
    return min((due for _, due in waiting.due), default=None)


def cleared(plan: Plan, waiting: Schedule, now: int) -> Cleared:
    """Remove the tasks that are due and, if any was removed, every phase without tasks.

    Where several tasks share phase and text, only the first is removed; if that one is open, none is.
    """
    due = {key for key, at in waiting.due if at <= now}
    later = Schedule(tuple((key, at) for key, at in waiting.due if at > now))
    gone: list[TaskInPhase] = []
    phases = [replace(phase, tasks=_kept(phase, due, gone)) for phase in plan.phases]
    if not gone:
        return Cleared(plan, later)
    return Cleared(Plan(tuple(phase for phase in phases if phase.tasks)), later, tuple(gone))


def _kept(phase: Phase, due: set[Key], gone: list[TaskInPhase]) -> tuple[Task, ...]:
    """The tasks that stay. A removed task moves from `due` to `gone`."""
    kept = []
    for task in phase.tasks:
        key = phase.name, task.text
        if key in due and not task.status.is_open:
            gone.append(TaskInPhase(phase.name, task))
        else:
            kept.append(task)
        due.discard(key)
    return tuple(kept)
