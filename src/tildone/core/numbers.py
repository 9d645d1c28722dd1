"""Task numbers: assigned once, unchanged by edits, never reused."""

from __future__ import annotations

from tildone.core.plan import Phase, Plan
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from tildone.core.plan import Status, Task


def assign_numbers(before: Plan, after: Plan) -> Plan:
    """Return the plan `after` a change with a number for each of its tasks.

    A task without a number inherits the number of a removed task with the same text: a manual edit of the whole plan
    loses the numbers. If there is none, the task gets the next unused number. The tasks that a task without a number
    comes after are positions in the plan, counted from 1: they become numbers, too.
    """
    numbers = [task.number for task in after.tasks]
    last_number = max(before.last_number, max(numbers, default=0))
    if 0 not in numbers:
        return after if after.last_number == last_number else replace(after, last_number=last_number)
    numbers_in_use = set(numbers)
    removed: dict[str, list[int]] = {}
    for task in before.tasks:
        if task.number and task.number not in numbers_in_use:
            removed.setdefault(task.text, []).append(task.number)
    phases = []
    for phase in after.phases:
        tasks = []
        for task in phase.tasks:
            number = task.number or _inherited(removed, task.text)
            if not number:
                last_number += 1
                number = last_number
            tasks.append(task if task.number == number else replace(task, number=number))
        phases.append(Phase(phase.name, tuple(tasks)))
    plan = replace(after, phases=tuple(phases), last_number=last_number)
    return _with_orders(after, plan) if any(task.after for task in after.tasks) else plan


def numbered(plan: Plan) -> Plan:
    """Return the plan with a number for each of its tasks: plans of older versions and of other programs have none."""
    return assign_numbers(plan, plan)


def with_status(plan: Plan, numbers: Container[int], status: Status) -> Plan:
    """Return the plan with another status for the tasks with these numbers."""
    phases = [
        replace(
            phase,
            tasks=tuple(replace(task, status=status) if task.number in numbers else task for task in phase.tasks),
        )
        for phase in numbered(plan).phases
    ]
    return replace(plan, phases=tuple(phases))


def same_content(one: Plan, other: Plan) -> bool:
    """Return whether two plans are equal but for the numbers of their tasks, which other programs do not keep."""
    return without_numbers(one) == without_numbers(other)


def without_numbers(plan: Plan) -> Plan:
    """Return the plan without numbers, so that its tasks get those of the tasks that they replace."""
    positions = {task.number: position for position, task in enumerate(plan.tasks, 1) if task.number}
    return Plan(
        tuple(
            Phase(phase.name, tuple(_without_number(task, positions) for task in phase.tasks)) for phase in plan.phases
        )
    )


def _without_number(task: Task, positions: Mapping[int, int]) -> Task:
    after = task.after if not task.number else tuple(positions[other] for other in task.after if other in positions)
    return replace(task, number=0, after=after)


def _with_orders(before: Plan, plan: Plan) -> Plan:
    """Return the plan with the numbers of the tasks that those without a number in `before` come after."""
    numbers = {position: task.number for position, task in enumerate(plan.tasks, 1)}
    phases = []
    for was, phase in zip(before.phases, plan.phases, strict=True):
        tasks = (
            task if old.number else replace(task, after=tuple(numbers[at] for at in old.after if at in numbers))
            for old, task in zip(was.tasks, phase.tasks, strict=True)
        )
        phases.append(Phase(phase.name, tuple(tasks)))
    return replace(plan, phases=tuple(phases))


def _inherited(removed: dict[str, list[int]], text: str) -> int:
    numbers = removed.get(text)
    return numbers.pop(0) if numbers else 0
