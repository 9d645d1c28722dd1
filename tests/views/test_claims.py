"""What an agent is told of the tasks of other agents."""

import pytest

from tildone.plan.claims import Claim, Claimant
from tildone.plan.model import Plan, Status, Task, flat
from tildone.plan.text.claims import ClaimNews, claim_lines, successor_lines

OTHER = Claimant("claude:1\n")
PLAN = flat(Task("parse\x1b", Status.IN_PROGRESS, number=1), Task("wire", number=2), Task("x" * 90, number=3))


def claim(task: int, remaining: int = 0) -> Claim:
    return Claim(task, 2, 9, OTHER, remaining=remaining)


@pytest.mark.parametrize(
    ("remaining", "time"), [(0, ""), (1, " (for 1 min unless it goes on)"), (60_001, " (for 2 min unless it goes on)")]
)
def test_a_task_that_another_agent_has_is_left_to_it(remaining: int, time: str) -> None:
    news = ClaimNews({1: claim(1, remaining)}, refused=(1,), instead=2)

    assert claim_lines(PLAN, news, numbered=True) == [
        f"#1 “parse␛” is with claude:1⏎{time}. Leave it to that agent.",
        "Started instead: #2 “wire”",
    ]


def test_a_task_that_has_passed_to_another_agent_is_told_once() -> None:
    news = ClaimNews({1: claim(1)}, lost=(claim(1),), refused=(1,), instead=2)

    assert claim_lines(PLAN, news, numbered=False) == [
        "“parse␛” has passed to claude:1⏎: yours was silent for too long. Your change of it was not made.",
        "Started instead: “wire”",
    ]


def test_conflicts_of_files_and_closed_tasks_are_told_also_if_a_task_is_gone() -> None:
    news = ClaimNews({}, conflicts=((2, 9),), closed=(3,))

    assert claim_lines(PLAN, news, numbered=False) == [
        "“wire” was not started: it may change the same files as task 9, on which another agent works.",
        f"“{'x' * 79}…” was closed by others meanwhile. It stays so.",
    ]


def test_an_agent_hears_that_no_other_task_is_ready_only_if_one_was_refused() -> None:
    alone = flat(Task("parse", Status.IN_PROGRESS, number=1), Task("done", Status.COMPLETED, number=2))

    assert claim_lines(alone, ClaimNews({1: claim(1)}, refused=(1,)), numbered=True)[-1] == "No other task is ready."
    assert claim_lines(alone, ClaimNews({1: claim(1)}), numbered=True) == []
    assert claim_lines(PLAN, ClaimNews({1: claim(1)}, refused=(1,)), numbered=True)[1:] == []


def test_an_heir_is_told_where_the_other_agent_left_off() -> None:
    """The newest three notes, of bounded length, and nothing that could end a line."""
    notes = ("first", "second", "y" * 400, "last\nnote")
    plan = flat(Task("parse", number=1, notes=notes))
    before = Claimant("codex:2", "/tree\n", "topic")

    lines = successor_lines(plan, [Claim(1, 3, 9, OTHER, before)], numbered=True)

    assert lines == [
        "#1 “parse” was begun by codex:2 in /tree⏎ on branch topic.",
        "  note: second",
        f"  note: {'y' * 299}…",
        "  note: last⏎note",
    ]


def test_only_tasks_of_the_plan_that_others_had_before_have_an_heir() -> None:
    first, gone = claim(1), Claim(9, 2, 9, OTHER, Claimant("codex:2"))

    assert successor_lines(PLAN, [first, gone], numbered=True) == []
    assert successor_lines(Plan(), [gone], numbered=True) == []
    assert successor_lines(PLAN, [Claim(2, 2, 9, OTHER, Claimant("codex:2"))], numbered=False) == [
        "“wire” was begun by codex:2."
    ]
