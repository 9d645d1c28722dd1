"""Snapshots of the plan in tool results, for dialects whose details do not contain the plan."""

import pytest

from tildone.plan.dialects import changed_in_details, recover, with_plan
from tildone.plan.model import Phase, Plan, Status, Task

PLAN = Plan((Phase("A", (Task("a", Status.BLOCKED, ("waits",), 3), Task("b", number=1))),), 3)


def result(details: object) -> dict[str, object]:
    return {"type": "message", "message": {"role": "toolResult", "toolName": "any", "details": details}}


def test_a_plan_is_recovered_unchanged() -> None:
    """Task numbers and their counter are included, since numbers are never reused."""
    assert recover([result(with_plan({"say": "ok"}, PLAN, PLAN))]) == PLAN


def test_the_newest_valid_plan_is_recovered() -> None:
    older, newer = with_plan({}, PLAN, PLAN), with_plan({}, Plan(), PLAN)

    assert recover([result(older), result(newer)]) == Plan()
    assert recover([result(newer), result(older), result({"say": "ok"})]) == PLAN


@pytest.mark.parametrize("held", [None, 3, "x", [], {}, {"phases": 3, "counted": 0}, {"phases": [{}], "counted": 0}])
def test_an_invalid_plan_is_skipped(held: object) -> None:
    assert recover([result({"tildone_plan": held})]) is None


@pytest.mark.parametrize("entry", [{}, {"type": "message"}, {"type": "message", "message": "x"}, {"type": "custom"}])
def test_other_entries_contain_no_snapshot(entry: dict[str, object]) -> None:
    assert recover([entry]) is None


def phase(name: str, *numbers: int, status: Status = Status.PENDING) -> Phase:
    return Phase(name, tuple(Task(f"{number}", status, number=number) for number in numbers))


TWO = (phase("A", 1, 2), phase("B", 3))


@pytest.mark.parametrize(
    ("after", "changed"),
    [
        (TWO, []),
        ((phase("A", 1, 2), phase("B", 3, status=Status.COMPLETED)), [3]),
        ((phase("A", 1, 4, 2), phase("B", 3)), [4]),
        ((*TWO, phase("C", 4)), [4]),
        ((phase("A", 2, 1), phase("B", 3)), []),
        ((phase("A", 1), phase("B", 2, 3)), []),
        ((phase("A", 1), phase("B", 3)), []),
        ((phase("A", 1, 2),), []),
        ((phase("A", 1, 2), phase("B"), phase("C", 3)), []),
        ((phase("A", 1, 2, status=Status.COMPLETED), phase("C", 3)), []),
    ],
)
def test_tasks_that_are_new_or_differ_are_named_if_all_others_are_where_they_were(
    after: tuple[Phase, ...], changed: list[int]
) -> None:
    assert changed_in_details(with_plan({}, Plan(after, 4), Plan(TWO, 3))) == changed


def test_at_first_every_task_is_new() -> None:
    assert changed_in_details(with_plan({}, Plan(TWO, 3), Plan())) == [1, 2, 3]


def test_details_of_another_form_name_no_task() -> None:
    assert changed_in_details(None) == changed_in_details({"tildone_changed": "1"}) == []
