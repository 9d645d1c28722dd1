"""Queries on a plan that the loop, the views and the dialects share."""

from __future__ import annotations

from tildone.core.plan import Plan, Status, Task
from tildone.value import value


@value
class PlanProgress:
    """The number of closed tasks and of all tasks. Abandoned tasks count as closed."""

    closed: int
    total: int

    @property
    def finished(self) -> bool:
        """Whether there are tasks and all of them are closed."""
        return 0 < self.total == self.closed


@value
class TaskInPhase:
    """A task and the name of its phase."""

    phase: str
    task: Task


def progress(plan: Plan) -> PlanProgress:
    """Return the progress of a plan."""
    tasks = plan.tasks
    return PlanProgress(sum(not task.status.is_open for task in tasks), len(tasks))


def open_tasks(plan: Plan) -> list[tuple[int, Task]]:
    """Return the open tasks, each with its position in the plan."""
    return [(position, task) for position, task in enumerate(plan.tasks) if task.status.is_open]


def waits_for(plan: Plan, task: Task) -> tuple[int, ...]:
    """Return the numbers of the open tasks that a task comes after. A task that was removed holds nobody up."""
    if not task.after:
        return ()
    still_open = {each.number for each in plan.tasks if each.status.is_open}
    return tuple(number for number in task.after if number in still_open)


def is_ready(plan: Plan, task: Task) -> bool:
    """Return whether a task can be worked on now: it is actionable, and nothing it comes after is open."""
    return task.status.is_actionable and not waits_for(plan, task)


def has_checks(plan: Plan) -> bool:
    """Return whether the plan or one of its tasks has a check."""
    return plan.check is not None or any(task.check is not None for task in plan.tasks)


def next_task(plan: Plan) -> tuple[int, Task] | None:
    """Return the task to work on now: the first in progress, else the first that is ready."""
    actionable = None
    for position, task in enumerate(plan.tasks):
        if task.status is Status.IN_PROGRESS:
            return position, task
        if actionable is None and is_ready(plan, task):
            actionable = position, task
    return actionable


def tasks_with_phase(plan: Plan) -> list[TaskInPhase]:
    """Return every task with the name of its phase, in order."""
    return [TaskInPhase(phase.name, task) for phase in plan.phases for task in phase.tasks]


def newly_completed(before: Plan, after: Plan) -> list[TaskInPhase]:
    """Return the tasks that are completed in `after` and were not in `before`; tasks that are new do not count.

    A task is identified by its phase and its text. If several tasks of `before` share both, the status of the last one
    counts for all of them, as in the original.
    """
    earlier = {(item.phase, item.task.text): item.task.status for item in tasks_with_phase(before)}
    return [
        item
        for item in tasks_with_phase(after)
        if item.task.status is Status.COMPLETED
        and earlier.get((item.phase, item.task.text), Status.COMPLETED) is not Status.COMPLETED
    ]
