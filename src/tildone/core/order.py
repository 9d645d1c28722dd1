"""The order of tasks: which ones wait for others."""

from __future__ import annotations

from tildone.core.query import waits_for
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.core.plan import Plan, Task


def waiting_tasks(plan: Plan) -> list[tuple[Task, tuple[int, ...]]]:
    """Return the open tasks that wait for others, each with the numbers of those."""
    waiting = ((task, waits_for(plan, task)) for task in plan.tasks if task.after and task.status.is_open)
    return [(task, others) for task, others in waiting if others]


def cycle_from(plan: Plan, number: int, after: Sequence[int]) -> tuple[int, ...]:
    """Return the tasks that would wait for each other if a task came after these; empty if none would."""
    before = {task.number: task.after for task in plan.tasks} | {number: tuple(after)}
    path: list[int] = []
    finished: set[int] = set()

    def visit(current: int) -> bool:
        if current in path:
            del path[: path.index(current)]
            return True
        if current in finished:
            return False
        path.append(current)
        if any(visit(other) for other in before.get(current, ())):
            return True
        path.pop()
        finished.add(current)
        return False

    return tuple(path) if visit(number) else ()
