"""A plan that no successful result tells of is written down beside it, and found again."""

from typing import Any

from tildone.core.plan import Phase, Plan, Task
from tildone.dialects.phased.entries import SNAPSHOT, phases_out, recover

OLD, NEW = Plan((Phase("A", (Task("old"),)),)), Plan((Phase("A", (Task("new"),)),))


def entry(custom_type: object, plan: Plan) -> dict[str, Any]:
    return {"type": "custom", "customType": custom_type, "data": {"phases": phases_out(plan)}}


def test_the_newest_snapshot_or_edit_counts() -> None:
    assert recover([entry("user_todo_edit", OLD), entry(SNAPSHOT, NEW)]) == NEW
    assert recover([entry(SNAPSHOT, NEW), entry("user_todo_edit", OLD)]) == OLD


def test_entries_of_other_kinds_say_nothing() -> None:
    assert recover([entry("bookmark", NEW), entry(["user_todo_edit"], NEW)]) is None
