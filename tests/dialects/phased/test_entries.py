"""Plans as plain data, in the details of results and in conversation entries of other hosts."""

from typing import Any

import pytest
from hypothesis import given

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, plans
from tildone.plan.dialects.phased import phases_in, phases_out, recover, resumed
from tildone.plan.model import Phase, Plan, Status, Task

Json = dict[str, Any]

OLD, NEW = ([{"name": name, "tasks": [{"content": "x", "status": "pending"}]}] for name in ("old", "new"))


def result(details: object, **more: object) -> Json:
    told = {"role": "toolResult", "toolName": "todo_write", "isError": False, "details": details}
    return {"type": "message", "message": told | more}


def edit(data: object) -> Json:
    return {"type": "custom", "customType": "user_todo_edit", "data": data}


@given(plans)
def test_plain_data_round_trips(plan: Plan) -> None:
    assert phases_in(phases_out(plan)) == plan


def test_a_task_without_notes_has_no_notes_field() -> None:
    plan = Plan((Phase("Auth", (Task("wire", IN_PROGRESS, ("why",)), Task("test"))),))

    assert phases_out(plan) == [
        {
            "name": "Auth",
            "tasks": [
                {"content": "wire", "status": "in_progress", "notes": ["why"]},
                {"content": "test", "status": "pending"},
            ],
        }
    ]


@pytest.mark.parametrize(
    "noise",
    [
        result({"phases": NEW}, isError=True),
        result({"phases": NEW}, toolName="todo"),
        result({"phases": NEW}, role="assistant"),
        result(None),
        result({}),
        edit(None),
        {"type": "custom", "customType": "other", "data": {"phases": NEW}},
        {"type": "message", "message": None},
        {"type": "custom", "customType": "user_todo_edit"},
    ],
)
def test_entries_without_a_plan_are_skipped(noise: Json) -> None:
    assert recover([result({"phases": OLD}), noise]) == phases_in(OLD)


@pytest.mark.parametrize(
    "broken",
    [
        "x",
        {},
        [None],
        [5],
        [{"name": "x"}],
        [{"name": 1, "tasks": []}],
        [{"name": "x", "tasks": None}],
        [{"name": "x", "tasks": [None]}],
        [{"name": "x", "tasks": [{"content": 1, "status": "pending"}]}],
        [{"name": "x", "tasks": [{"content": "a", "status": "pending", "notes": "n"}]}],
        [{"name": "x", "tasks": [{"content": "a", "status": "pending", "notes": [1]}]}],
    ],
)
def test_an_invalid_snapshot_is_skipped(broken: object) -> None:
    """The original raises an exception, and the conversation cannot be opened."""
    with pytest.raises(ValueError, match="not a list of phases"):
        phases_in(broken)
    assert recover([result({"phases": OLD}), result({"phases": broken})]) == phases_in(OLD)


@pytest.mark.parametrize(
    "status", [{"status": "doing"}, {"status": None}, {"status": []}, {}, {"notes": None}], ids=str
)
def test_a_status_word_that_is_not_known_is_read_as_pending(status: Json) -> None:
    """And never brings back an older plan."""
    tasks = [{"content": "a", **status}, {"content": "b", "status": "completed"}]
    snapshot = [{"name": "x", "tasks": tasks}]

    assert recover([result({"phases": OLD}), result({"phases": snapshot})]) == Plan(
        (Phase("x", (Task("a"), Task("b", Status.COMPLETED))),)
    )


def test_a_session_without_snapshots_has_no_plan() -> None:
    assert recover([]) is None
    assert recover([result({"phases": "x"})]) is None


def test_a_resumed_plan_has_open_tasks_only() -> None:
    """Statuses are unchanged: no task is started before the next change."""
    plan = Plan(
        (
            Phase("Auth", (Task("wire", COMPLETED), Task("test", notes=("why",)))),
            Phase("Docs", (Task("write", ABANDONED),)),
            Phase("Empty"),
        )
    )

    assert resumed(plan) == Plan((Phase("Auth", (Task("test", notes=("why",)),)),))
