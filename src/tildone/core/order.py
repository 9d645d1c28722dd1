"""The order of tasks: which ones wait for others."""

from __future__ import annotations

from tildone.core.plan import Status
from tildone.core.query import waits_for
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.core.plan import Plan, Task


def waiting_tasks(plan: Plan) -> list[tuple[Task, tuple[int, ...]]]:
    """Return the open tasks that wait for others, each with the numbers of those."""
    waiting = ((task, waits_for(plan, task)) for task in plan.tasks if task.after and task.status.is_open)
    return [(task, others) for task, others in waiting if others]


def held_up(plan: Plan) -> list[tuple[Task, frozenset[int]]]:
    """Return the tasks with checks that nobody works on, because they or tasks that they wait for are blocked.

    Each has the numbers of the tasks that decide about it: its own, and those that it waits for. A task whose check has
    blocked it is left out: its proof says what it waits for.
    """
    found = []
    for task in plan.tasks:
        if task.check is None or task.status not in (Status.PENDING, Status.BLOCKED):
            continue
        chain = _chain(plan, task)
        waits = any(each.status is Status.BLOCKED for each in chain[1:])
        by_check = task.proof is not None and task.proof.result.blocks
        if waits or (task.status is Status.BLOCKED and not by_check):
            found.append((task, frozenset(each.number for each in chain)))
    return found


def _chain(plan: Plan, task: Task) -> list[Task]:
    """The task, and those that it waits for, directly or not."""
    by_number = {each.number: each for each in plan.tasks}
    chain = {task.number: task}
    pending = [task]
    while pending:
        for number in waits_for(plan, pending.pop()):
            if number not in chain:
                chain[number] = by_number[number]
                pending.append(by_number[number])
    return list(chain.values())


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
