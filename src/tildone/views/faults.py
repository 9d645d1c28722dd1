"""Faults as sentences without a capital letter or a full stop, for people."""

from __future__ import annotations

from tildone.core.faults import (
    BadPosition,
    CheckOutside,
    Cycle,
    DuplicateTask,
    EmptyNote,
    Fault,
    HasCheck,
    MissingField,
    NoSuchNumber,
    NoTasks,
    OutOfRange,
    PhaseMissing,
    TaskMissing,
    TextTooLong,
    TooManyActive,
    TooManyTasks,
    UnknownValue,
    UselessCheck,
)
from tildone.views.sanitize import printable


def describe_fault(fault: Fault) -> str:
    """Return why a change was refused, as a sentence."""
    match fault:
        case NoTasks():
            return "there are no tasks"
        case OutOfRange(indices, last):
            return f"no task at {', '.join(map(str, indices))}: tasks are numbered 0 to {last}"
        case NoSuchNumber(numbers):
            return f"no task has the number {', '.join(map(str, numbers))}"
        case BadPosition(at, last):
            return f"cannot insert at {at}: places are numbered 0 to {last}"
        case TextTooLong(index, limit):
            return f"the text of new task {index + 1} is longer than {limit} characters"
        case TooManyTasks(adding, limit, current):
            return f"cannot add {adding} to the {current} tasks there are: a plan holds at most {limit}"
        case TooManyActive(count):
            return f"only one task can be in progress, not {count}"
        case TaskMissing(_, empty=True):
            return "there are no tasks yet"
        case TaskMissing(text):
            return f"no task says “{printable(text)}”"
        case PhaseMissing(name):
            return f"no phase is named “{printable(name)}”"
        case DuplicateTask(text):
            return f"a task already says “{printable(text)}”"
        case EmptyNote():
            return "a note needs text"
        case MissingField(field, operation):
            return f"{operation} needs {field}"
        case CheckOutside(folder):
            return f"the folder of a check has to be in the working tree; “{printable(folder)}” is not"
        case UselessCheck(command):
            return f"a check needs a command that can fail, not “{printable(' '.join(command))}”"
        case HasCheck(0):
            return "the plan has a check: only a person can empty the plan or change the check"
        case HasCheck(_, text):
            return f"“{printable(text)}” has a check: only a person can remove the task or change the check"
        case Cycle(numbers):
            return f"these tasks would wait for each other: {', '.join(map(str, numbers))}"
        case UnknownValue(field, word):  # exhaustive
            return f"unknown {field} “{printable(word)}”"
