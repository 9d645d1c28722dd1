"""How a person names tasks."""

import pytest

from tests.plans import COMPLETED, plan_of
from tildone.app.commands import (
    Answer,
    FailureReason,
    Targets,
    find_targets,
    find_task,
    find_tasks,
    number_ranges,
    task_number,
)
from tildone.plan.model import Phase, Plan, Task, numbered

PLAN = numbered(Plan((Phase("Build", (Task("Fix #2"), Task("Test", COMPLETED), Task("Test again"))), Phase("Test"))))


def complaint(found: object) -> str:
    assert isinstance(found, Answer)
    assert found.failure is FailureReason.UNMATCHED
    return found.messages[0].text


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("3", 3),
        ("#3", 3),
        ("[3]", 3),
        ("0", 0),
        ("007", 7),
        ("3a", None),
        ("##3", None),
        ("[3", None),
        ("", None),
        ("#", None),
        ("-1", None),
        ("٣", None),
        ("9" * 20, None),
    ],
)
def test_a_number_has_three_forms(word: str, number: int | None) -> None:
    assert task_number(word) == number


def test_a_number_takes_precedence_over_a_text() -> None:
    """`2` is also a part of the text of task 1."""
    assert find_targets(PLAN, ["2"]) == Targets((PLAN.tasks[1],))
    assert find_targets(PLAN, ["fix #2"]) == Targets((PLAN.tasks[0],))


def test_numbers_name_each_task_once_and_in_the_order_given() -> None:
    found = find_tasks(PLAN, ["3", "#1", "[3]"])

    assert isinstance(found, Targets)
    assert found.numbers == (3, 1)
    assert str(found) == "#3 Test again; #1 Fix #2"


def test_brackets_are_positions_only_where_positions_are_shown() -> None:
    assert find_tasks(PLAN, ["[1]"], positions=True) == Targets((PLAN.tasks[1],))
    assert find_tasks(PLAN, ["[1]"]) == Targets((PLAN.tasks[0],))
    assert find_tasks(PLAN, ["1"], positions=True) == Targets((PLAN.tasks[0],))
    assert complaint(find_tasks(PLAN, ["[3]"], positions=True)) == (
        "There is no task at position [3]: positions are [0] to [2]"
    )
    assert complaint(find_tasks(Plan(), ["[0]"], positions=True)) == (
        "There is no task at position [0]: the plan has no tasks"
    )


def test_words_are_one_part_of_a_text_or_the_name_of_a_phase() -> None:
    assert find_targets(PLAN, ["test", "again"]) == Targets((PLAN.tasks[2],))
    found = find_targets(PLAN, ["buil"])
    assert isinstance(found, Targets)
    assert (found.phase, str(found), found.numbers) == ("Build", "all of Build", (1, 2, 3))


def test_one_task_is_not_several() -> None:
    assert find_task(PLAN, ["1"]) == PLAN.tasks[0]
    several = find_task(PLAN, ["1", "2"])
    assert isinstance(several, Answer)
    assert (several.failure, several.messages[0].text) == (FailureReason.USAGE, "Name one task, not 2")


def test_what_names_no_task_is_refused_with_what_there_is() -> None:
    gone = Plan(PLAN.phases, last_number=9)
    many = plan_of(*(f"Task {letter}" for letter in "abcdefg"))

    assert complaint(find_task(PLAN, ["7"])) == "There is no task #7: the plan has #1-#3"
    assert complaint(find_task(gone, ["7"])) == "There is no task #7: it was removed; the plan has #1-#3"
    assert complaint(find_task(Plan(), ["7"])) == "There is no task #7: the plan has no tasks"
    assert complaint(find_targets(PLAN, ["nope"])) == 'No task or phase has "nope" in it'
    assert complaint(find_task(PLAN, ["no\npe"])) == 'No task has "no⏎pe" in it'
    assert complaint(find_targets(many, ["task"])) == (
        '"task" fits 7; name one by its number: #1 Task a; #2 Task b; #3 Task c; #4 Task d; #5 Task e; …'
    )
    phases = Plan((Phase("Test a"), Phase("Test b")))
    assert complaint(find_targets(phases, ["test"])) == (
        '"test" fits 2; name one by its number: the phase Test a; the phase Test b'
    )


def test_many_tasks_are_listed_by_their_numbers() -> None:
    assert number_ranges([7, 1, 2, 3]) == "#1-#3, #7"
    assert str(Targets(plan_of(*"abcdefg").tasks)) == "7 tasks (#1-#7)"
