"""Faults as sentences for people."""

import pytest

from tildone.plan.faults import (
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
from tildone.plan.text.faults import describe_fault

SENTENCES = {
    NoTasks(): "there are no tasks",
    OutOfRange((5, 7), last=2): "no task at 5, 7: tasks are numbered 0 to 2",
    NoSuchNumber((4, 9)): "no task has the number 4, 9",
    BadPosition(9, last=3): "cannot insert at 9: places are numbered 0 to 3",
    TextTooLong(0, 1000): "the text of new task 1 is longer than 1000 characters",
    TooManyTasks(3, 100, 99): "cannot add 3 to the 99 tasks there are: a plan holds at most 100",
    TooManyActive(2): "only one task can be in progress, not 2",
    TaskMissing("a\x1b", empty=False): "no task says “a␛”",
    TaskMissing("a", empty=True): "there are no tasks yet",
    PhaseMissing("A\nB"): "no phase is named “A⏎B”",
    DuplicateTask("a"): "a task already says “a”",
    EmptyNote(): "a note needs text",
    UselessCheck(("echo", "a\x1b")): "a check needs a command that can fail, not “echo a␛”",
    CheckOutside("/a\x1b"): "the folder of a check has to be in the working tree; “/a␛” is not",
    Cycle((2, 1)): "these tasks would wait for each other: 2, 1",
    HasCheck(3, "a\nb"): "“a⏎b” has a check: only a person can remove the task or change the check",
    HasCheck(0): "the plan has a check: only a person can empty the plan or change the check",
    MissingField("index", "insert"): "insert needs index",
    UnknownValue("mode", "x\u202e"): "unknown mode “x<U+202E>”",
}


@pytest.mark.parametrize("fault", SENTENCES, ids=repr)
def test_every_fault_has_a_sentence(fault: Fault) -> None:
    """Values in it are sanitized."""
    assert describe_fault(fault) == SENTENCES[fault]
