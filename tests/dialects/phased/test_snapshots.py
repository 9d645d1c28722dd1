"""A plan that no successful result contains is recovered from a snapshot entry."""

from typing import Any

from tildone.plan.dialects.phased import SNAPSHOT, phases_out, recover
from tildone.plan.model import Phase, Plan, Task

OLD, NEW = Plan((Phase("A", (Task("old"),)),)), Plan((Phase("A", (Task("new"),)),))


def entry(custom_type: object, plan: Plan) -> dict[str, Any]:
    return {"type": "custom", "customType": custom_type, "data": {"phases": phases_out(plan)}}


def test_the_newest_snapshot_or_edit_is_recovered() -> None:
    assert recover([entry("user_todo_edit", OLD), entry(SNAPSHOT, NEW)]) == NEW
    assert recover([entry(SNAPSHOT, NEW), entry("user_todo_edit", OLD)]) == OLD


def test_other_custom_entries_are_ignored() -> None:
    assert recover([entry("bookmark", NEW), entry(["user_todo_edit"], NEW)]) is None
