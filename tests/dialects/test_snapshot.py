"""Snapshots of the plan in tool results, for dialects whose details do not contain the plan."""

import pytest

from tildone.core.plan import Phase, Plan, Status, Task
from tildone.dialects.snapshot import recover, with_plan

PLAN = Plan((Phase("A", (Task("a", Status.BLOCKED, ("waits",), 3), Task("b", number=1))),), 3)


def result(details: object) -> dict[str, object]:
    return {"type": "message", "message": {"role": "toolResult", "toolName": "any", "details": details}}


def test_a_plan_is_recovered_unchanged() -> None:
    """Task numbers and their counter are included, since numbers are never reused."""
    assert recover([result(with_plan({"say": "ok"}, PLAN))]) == PLAN


def test_the_newest_valid_plan_is_recovered() -> None:
    older, newer = with_plan({}, PLAN), with_plan({}, Plan())

    assert recover([result(older), result(newer)]) == Plan()
    assert recover([result(newer), result(older), result({"say": "ok"})]) == PLAN


@pytest.mark.parametrize("held", [None, 3, "x", [], {}, {"phases": 3, "counted": 0}, {"phases": [{}], "counted": 0}])
def test_an_invalid_plan_is_skipped(held: object) -> None:
    assert recover([result({"tildone_plan": held})]) is None


@pytest.mark.parametrize("entry", [{}, {"type": "message"}, {"type": "message", "message": "x"}, {"type": "custom"}])
def test_other_entries_contain_no_snapshot(entry: dict[str, object]) -> None:
    assert recover([entry]) is None
