"""Checks, order and files: what a person's changes answer, and what their steps do."""

import pytest

from tests.plans import COMPLETED, plan_of
from tildone.app import commands
from tildone.app.commands import Answer
from tildone.base import replace
from tildone.plan.model import Check, Task
from tildone.plan.ops import Numbered, Order, SetCheck, Touch

PLAN = plan_of("Parse", "Test", "Ship")
MAKE = Check(("make", "all"))


def message(answer: Answer) -> str:
    return "\n".join(each.text for each in answer.messages)


@pytest.mark.parametrize(
    ("target", "words", "selector"),
    [
        (PLAN.tasks[0], "Check of #1 Parse: $ make all", Numbered((1,))),
        (replace(PLAN.tasks[0], check=MAKE, status=COMPLETED), "Check of #1 Parse: $ make all", Numbered((1,))),
        (
            replace(PLAN.tasks[0], status=COMPLETED),
            "Check of #1 Parse: $ make all; it is open again",
            Numbered((1,)),
        ),
        (None, "Check of the plan: $ make all", None),
    ],
)
def test_a_check_is_set(target: Task | None, words: str, selector: Numbered | None) -> None:
    answer = commands.set_check(target, MAKE)

    assert (message(answer), answer.steps) == (words, (SetCheck(selector, MAKE),))


def test_a_check_is_removed() -> None:
    checked = replace(PLAN.tasks[0], check=MAKE)

    assert commands.remove_check(PLAN, checked).steps == (SetCheck(Numbered((1,)), None),)
    assert commands.remove_check(replace(PLAN, check=MAKE), None).steps == (SetCheck(None, None),)
    assert message(commands.remove_check(PLAN, PLAN.tasks[0])) == "Nothing changed: #1 Parse has no check."
    assert message(commands.remove_check(PLAN, None)) == "Nothing changed: the plan has no check."


def test_a_task_comes_after_others() -> None:
    answer = commands.order(PLAN, "ship", ["1", "[1]"], positions=True)

    assert (message(answer), answer.steps) == ("#3 Ship comes after #1, #2", (Order(Numbered((3,)), (1, 2)),))
    assert commands.order(PLAN, "3", []).steps == (Order(Numbered((3,)), ()),)


def test_the_files_of_a_task_are_named() -> None:
    answer = commands.set_words(PLAN, "touches", "1", ["src/*", "docs"])

    assert (message(answer), answer.steps) == (
        "Changes src/*, docs: #1 Parse",
        (Touch(Numbered((1,)), ("src/*", "docs")),),
    )
    assert message(commands.set_words(PLAN, "touches", "1", [])) == "Names no files: #1 Parse"
