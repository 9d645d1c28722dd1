"""When finished tasks leave the list by themselves.

A host asks `schedule` after every change of the plan, waits until `next_moment`, and then lets `cleared` say what
goes. A clearing is no change in that sense: what it leaves behind waits until the plan is changed again.
"""

from __future__ import annotations

from tildone.core.plan import Phase, Plan, Task
from tildone.core.query import TaskInPhase
from tildone.value import replace, value

DEFAULT_DELAY_MS = 60_000

Key = tuple[str, str]


@value
class Schedule:
    """Finished tasks, known by phase and text, and the moment (in milliseconds) at which each is cleared."""

    due: tuple[tuple[Key, int], ...] = ()


@value
class Cleared:
    """The plan after a clearing, what is still waiting, and each task that went."""

    plan: Plan
    waiting: Schedule
    gone: tuple[TaskInPhase, ...] = ()


def schedule(plan: Plan, before: Schedule, now: int, delay_ms: int = DEFAULT_DELAY_MS) -> Schedule:
    """What is cleared when: a task that is already waiting keeps its moment, one that was reopened loses it.

    A delay of 0 means the next turn of the host's loop; a negative one clears nothing.
    """
    if delay_ms < 0:
        return Schedule()
    waiting = dict(before.due)
    finished = dict.fromkeys(
        (phase.name, task.text) for phase in plan.phases for task in phase.tasks if not task.status.is_open
    )
    return Schedule(tuple((key, waiting.get(key, now + delay_ms)) for key in finished))


def next_moment(waiting: Schedule) -> int | None:
    """When the next task is to be cleared; None when none is waiting."""
    return min((moment for _, moment in waiting.due), default=None)


def cleared(plan: Plan, waiting: Schedule, now: int) -> Cleared:
    """Take out the tasks whose moment has come, and, if any went, every phase without tasks.

    Where several tasks share phase and text the first speaks for all: it goes alone, or, if it is open, none does.
    """
    due = {key for key, moment in waiting.due if moment <= now}
    later = Schedule(tuple((key, moment) for key, moment in waiting.due if moment > now))
    gone: list[TaskInPhase] = []
    phases = [replace(phase, tasks=_kept(phase, due, gone)) for phase in plan.phases]
    if not gone:
        return Cleared(plan, later)
    return Cleared(Plan(tuple(phase for phase in phases if phase.tasks)), later, tuple(gone))


def _kept(phase: Phase, due: set[Key], gone: list[TaskInPhase]) -> tuple[Task, ...]:
    """The tasks that stay; what goes is taken off `due` and put into `gone`."""
    kept = []
    for task in phase.tasks:
        key = phase.name, task.text
        if key in due and not task.status.is_open:
            gone.append(TaskInPhase(phase.name, task))
        else:
            kept.append(task)
        due.discard(key)
    return tuple(kept)
