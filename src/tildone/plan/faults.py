"""Faults: why a change was refused, as data. Dialects put faults into words."""

from __future__ import annotations

from tildone.base import value
from tildone.plan.model import Plan, Rules, Task, first_too_long


@value
class NoTasks:
    """Tasks were selected by position, but the plan has no tasks."""


@value
class OutOfRange:
    """Positions beyond the end of the plan. `last` is the position of its last task."""

    indices: tuple[int, ...]
    last: int


@value
class NoSuchNumber:
    """Numbers that no task has."""

    numbers: tuple[int, ...]


@value
class BadPosition:
    """An insert position outside the range 0 to `last`."""

    at: int
    last: int


@value
class TextTooLong:
    """The new task at `index` of the request is longer than allowed."""

    index: int
    limit: int


@value
class TooManyTasks:
    """Adding `adding` tasks to the `current` ones would exceed the limit."""

    adding: int
    limit: int
    current: int


@value
class TooManyActive:
    """More tasks are in progress than the rules allow."""

    count: int


@value
class TaskMissing:
    """No task has this text. `empty` means that the plan has no tasks."""

    text: str
    empty: bool


@value
class PhaseMissing:
    """No phase has this name."""

    name: str


@value
class DuplicateTask:
    """A task with this text already exists."""

    text: str


@value
class EmptyNote:
    """The text of a note is empty."""


@value
class MissingField:
    """A field that the operation requires is missing."""

    field: str
    operation: str


@value
class UnknownValue:
    """The field does not accept this value."""

    field: str
    word: str


@value
class UselessCheck:
    """The command of a check is empty, or succeeds whatever was done."""

    command: tuple[str, ...]


@value
class CheckOutside:
    """The folder of a check is not in the working tree."""

    folder: str


@value
class HasCheck:
    """A model was to remove a task, or change a check, that a person asked for. The number 0 stands for the plan."""

    number: int
    text: str = ""


@value
class NotYours:
    """A task that an agent cannot have because of other agents; the number is 0 where tasks are known by their texts.

    The agent `holder` works on it, for so many `minutes` unless it goes on; if it has `passed_on`, the agent that is
    refused had it before. Or it may change the same files as the task `beside`, on which another agent works; or it
    comes after the task `behind`, which waits for a person. Else, others have closed it, which the agent did not know.
    """

    number: int
    text: str
    holder: str = ""
    minutes: int = 0
    passed_on: bool = False
    beside: Task | None = None
    behind: Task | None = None


@value
class Cycle:
    """The tasks with these numbers would wait for each other."""

    numbers: tuple[int, ...]


Fault = (
    NoTasks
    | OutOfRange
    | NoSuchNumber
    | BadPosition
    | TextTooLong
    | TooManyTasks
    | TooManyActive
    | TaskMissing
    | PhaseMissing
    | DuplicateTask
    | EmptyNote
    | MissingField
    | UnknownValue
    | UselessCheck
    | CheckOutside
    | HasCheck
    | NotYours
    | Cycle
)


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
