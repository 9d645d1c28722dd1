"""The limits of new tasks, as faults."""

from __future__ import annotations

from tildone.core.faults import DuplicateTask, Fault, TextTooLong, TooManyTasks
from tildone.core.plan import Plan, Task
from tildone.core.rules import Rules, first_too_long


def length_fault(tasks: tuple[Task, ...], rules: Rules) -> tuple[Fault, ...]:
    """Return the fault of the first text that is too long; none if all are short enough."""
    index = first_too_long((task.text for task in tasks), rules)
    return () if index is None else (TextTooLong(index, rules.max_text or 0),)


def count_fault(plan: Plan, tasks: tuple[Task, ...], rules: Rules) -> tuple[Fault, ...]:
    """Return the fault of adding these tasks if there would be too many; none otherwise."""
    current = len(plan.tasks)
    if rules.max_tasks is None or current + len(tasks) <= rules.max_tasks:
        return ()
    return (TooManyTasks(len(tasks), rules.max_tasks, current),)


def without_duplicates(plan: Plan, tasks: tuple[Task, ...]) -> tuple[tuple[Task, ...], tuple[Fault, ...]]:
    """Return the tasks whose texts are new, and a fault for each of the others."""
    known = {task.text for task in plan.tasks}
    new: list[Task] = []
    duplicates: list[Fault] = []
    for task in tasks:
        if task.text in known:
            duplicates.append(DuplicateTask(task.text))
        else:
            known.add(task.text)
            new.append(task)
    return tuple(new), tuple(duplicates)
