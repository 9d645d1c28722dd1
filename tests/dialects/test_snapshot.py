"""Plans kept in tool results, for dialects whose details do not tell the plan."""

import pytest

from tildone.core.plan import Phase, Plan, Status, Task
from tildone.dialects.snapshot import recover, with_plan

PLAN = Plan((Phase("A", (Task("a", Status.BLOCKED, ("waits",), 3), Task("b", number=1))),), 3)


def result(details: object) -> dict[str, object]:
    return {"type": "message", "message": {"role": "toolResult", "toolName": "any", "details": details}}


def test_a_plan_is_recovered_as_it_was() -> None:
    """Numbers and the count of all tasks included: numbers are never given twice."""
    assert recover([result(with_plan({"say": "ok"}, PLAN))]) == PLAN


def test_the_newest_readable_plan_counts() -> None:
    older, newer = with_plan({}, PLAN), with_plan({}, Plan())

    assert recover([result(older), result(newer)]) == Plan()
    assert recover([result(newer), result(older), result({"say": "ok"})]) == PLAN


@pytest.mark.parametrize("held", [None, 3, "x", [], {}, {"phases": 3, "counted": 0}, {"phases": [{}], "counted": 0}])
def test_a_damaged_plan_is_passed_over(held: object) -> None:
    assert recover([result({"tildone_plan": held})]) is None


@pytest.mark.parametrize("entry", [{}, {"type": "message"}, {"type": "message", "message": "x"}, {"type": "custom"}])
def test_entries_of_other_kinds_hold_none(entry: dict[str, object]) -> None:
    assert recover([entry]) is None
