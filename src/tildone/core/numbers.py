"""Task numbers: assigned once, kept through every edit, never reused."""

from __future__ import annotations

from tildone.core.plan import Phase, Plan, Task


def numbered(before: Plan, after: Plan) -> Plan:
    """The plan `after` a change, with a number for each of its tasks.

    A task without a number, which comes from an edit of the whole plan by hand, inherits the number of the former task
    with the same text; any other gets the next unused number.
    """
    kept = {task.number for task in after.tasks}
    former: dict[str, list[int]] = {}
    for task in before.tasks:
        if task.number and task.number not in kept:
            former.setdefault(task.text, []).append(task.number)
    counted = max([before.counted, *kept])
    phases = []
    for phase in after.phases:
        tasks = []
        for task in phase.tasks:
            number = task.number or _inherited(former, task.text)
            if not number:
                counted += 1
                number = counted
            tasks.append(Task(task.text, task.status, task.notes, number))
        phases.append(Phase(phase.name, tuple(tasks)))
    return Plan(tuple(phases), counted)


def _inherited(former: dict[str, list[int]], text: str) -> int:
    waiting = former.get(text)
    return waiting.pop(0) if waiting else 0
