"""Task numbers: assigned once, unchanged by edits, never reused."""

from __future__ import annotations

from tildone.core.plan import Phase, Plan, Task
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Container

    from tildone.core.plan import Status


def assign_numbers(before: Plan, after: Plan) -> Plan:
    """Return the plan `after` a change with a number for each of its tasks.

    A task without a number inherits the number of a removed task with the same text: a manual edit of the whole plan
    loses the numbers. If there is none, the task gets the next unused number.
    """
    numbers = [task.number for task in after.tasks]
    last_number = max(before.last_number, max(numbers, default=0))
    if 0 not in numbers:
        return after if after.last_number == last_number else Plan(after.phases, last_number)
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
            tasks.append(Task(task.text, task.status, task.notes, number, task.from_user, task.source))
        phases.append(Phase(phase.name, tuple(tasks)))
    return Plan(tuple(phases), last_number)


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
    return Plan(
        tuple(Phase(phase.name, tuple(replace(task, number=0) for task in phase.tasks)) for phase in plan.phases)
    )


def _inherited(removed: dict[str, list[int]], text: str) -> int:
    numbers = removed.get(text)
    return numbers.pop(0) if numbers else 0
