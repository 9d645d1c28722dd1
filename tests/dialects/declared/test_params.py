"""The arguments that `TodoWrite` accepts, the order of its checks, and its refusals."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans import ABANDONED, BLOCKED, COMPLETED, IN_PROGRESS, plan_of, session_on
from tildone.plan.dialects.declared import DIALECT as DECLARED
from tildone.plan.faults import TooManyActive
from tildone.plan.model import Plan, Task, flat, without_numbers
from tildone.plan.ops import Append

[TOOL] = DECLARED.tools

SCHEMA = """
{
  "type": "object",
  "properties": {
    "summary": {"type": "string", "description": "Overall task summary (required by the model)."},
    "todos": {
      "type": "array",
      "description": "The full todo list (overwrites existing list).",
      "items": {
        "type": "object",
        "properties": {
          "content": {"type": "string", "description": "Todo text."},
          "status": {
            "type": "string",
            "enum": ["pending", "in_progress", "completed", "cancelled"],
            "description": "Todo status."
          },
          "id": {"type": "string", "description": "Optional todo id (framework may assign/reuse)."}
        },
        "required": ["content", "status"],
        "additionalProperties": false
      }
    }
  },
  "required": ["summary", "todos"]
}
"""


def item(content: object = "a", status: object = "pending", **more: object) -> dict[str, object]:
    return {"content": content, "status": status, **more}


def call(*todos: object, summary: object = "s") -> dict[str, Any]:
    return {"summary": summary, "todos": list(todos)}


def test_the_schema_equals_the_documented_one() -> None:
    """The order of keys is compared as well, because the model reads the schema."""
    assert json.dumps(TOOL.parameters) == json.dumps(json.loads(SCHEMA))
    assert TOOL.name == "TodoWrite"
    assert TOOL.description == (
        "Overwrite the todo list with the current complete list. "
        "Framework persists and returns the updated list and recap."
    )


def test_a_list_replaces_the_previous_one() -> None:
    """The order is preserved, texts are stripped, and statuses are translated."""
    session = session_on(dialect=DECLARED)
    session.call("TodoWrite", call(item("old"), item("older")))

    reply = session.call(
        "TodoWrite",
        call(item(" a\t", "completed"), item("b", "cancelled"), item("c", "in_progress"), item("c")),
    )

    assert not reply.is_error
    assert without_numbers(session.plan) == flat(
        Task("a", COMPLETED), Task("b", ABANDONED), Task("c", IN_PROGRESS), Task("c")
    )


def test_an_empty_list_empties_the_plan() -> None:
    """The plan then has no phase."""
    session = session_on(dialect=DECLARED)
    session.call("TodoWrite", call(item()))

    session.call("TodoWrite", call())

    assert without_numbers(session.plan) == Plan()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "summary: expected some text"),
        ({"summary": " \n", "todos": "x"}, "summary: expected some text"),
        ({"summary": 5, "todos": []}, "summary: expected some text"),
        ({"summary": "s"}, "todos: expected an array"),
        ({"summary": "s", "todos": {"content": "a"}}, "todos: expected an array"),
        (call(*["bad"] * 11), "todos: expected at most 10 items, got 11"),
        (call(item(), ["a"]), "todos[1]: expected an object with content and status"),
        (call({"status": "done"}), "todos[0].content: expected some text"),
        (call(item("  ", "done")), "todos[0].content: expected some text"),
        (call(item(["a"])), "todos[0].content: expected some text"),
        (call(item("x" * 61, "done")), "todos[0].content: expected at most 60 characters"),
        (
            call({"content": "a"}),
            "todos[0].status: expected one of pending, in_progress, completed, cancelled",
        ),
        (
            call(item(), item("b", "done"), item("")),
            "todos[1].status: expected one of pending, in_progress, completed, cancelled",
        ),
        (
            call(item("b", ["pending"])),
            "todos[0].status: expected one of pending, in_progress, completed, cancelled",
        ),
        (
            call(item("a", "in_progress"), item("b", "in_progress"), item("c", "abandoned")),
            "todos[2].status: expected one of pending, in_progress, completed, cancelled",
        ),
        (
            call(item("a", "in_progress"), item("b"), item("c", "in_progress")),
            "todos: expected at most one item in_progress, got 2",
        ),
    ],
)
def test_without_schema_checks_the_first_fault_is_reported(params: dict[str, Any], message: str) -> None:
    """The order is summary, list, count, then for each item object, content, length and status, then the rules."""
    session = session_on(dialect=DECLARED)
    session.call("TodoWrite", call(item("kept")))

    reply = session.execute(TOOL, params)

    assert reply.is_error
    assert reply.details["error"] == {"code": "INVALID_PARAM", "message": message}
    assert reply.details["context"]["params_input"] == params
    assert session.plan == plan_of("kept")


def test_the_text_limit_applies_after_stripping() -> None:
    """Characters are counted as code points."""
    session = session_on(dialect=DECLARED)

    reply = session.call("TodoWrite", call(item(f"  {'😀' * 60}\n")))

    assert not reply.is_error
    assert session.plan == plan_of("😀" * 60)


def test_ten_items_are_allowed() -> None:
    """The limit is inclusive."""
    session = session_on(dialect=DECLARED)

    assert not session.call("TodoWrite", call(*[item()] * 10)).is_error


@pytest.mark.parametrize("more", [{"id": 7}, {"priority": "high"}])
def test_without_schema_checks_ids_and_unknown_keys_are_ignored(more: dict[str, object]) -> None:
    """Unknown keys are ignored, as ids are."""
    session = session_on(dialect=DECLARED)

    reply = session.execute(TOOL, {**call(item("a", **more)), "merge": True})

    assert reply.details["data"]["todos"] == [{"id": "t1", "content": "a", "status": "pending"}]


@pytest.mark.parametrize("more", [{"id": 7}, {"priority": "high"}])
def test_schema_checks_refuse_unknown_keys(more: dict[str, object]) -> None:
    """A model must not assume that an unknown field, such as a priority, was stored."""
    session = session_on(dialect=DECLARED)

    reply = session.call("TodoWrite", call(item("a", **more)))

    assert reply.is_error
    assert reply.details["error"]["message"].startswith(f"todos[0].{next(iter(more))}: ")
    assert without_numbers(session.plan) == Plan()


def test_a_persons_edit_obeys_the_same_rules() -> None:
    """An edit without the tool is refused with the same faults."""
    session = session_on(dialect=DECLARED)
    session.change([Append((Task("a", IN_PROGRESS),))])

    outcome = session.change([Append(tuple(Task(text) for text in "bcdefghijk"))])

    assert outcome.faults
    assert without_numbers(session.plan) == flat(Task("a", IN_PROGRESS))


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
words = st.sampled_from(["pending", "in_progress", "completed", "cancelled", "done", " pending"])
items = st.fixed_dictionaries({}, optional={"content": junk | st.just("text"), "status": junk | words, "id": junk})
wild_calls = st.fixed_dictionaries(
    {}, optional={"summary": junk | st.just("s"), "todos": junk | st.lists(junk | items, max_size=12)}
)


@given(params=wild_calls, door=st.booleans())
def test_a_list_is_accepted_as_a_whole_or_changes_nothing(params: dict[str, Any], *, door: bool) -> None:
    """This holds with and without schema checks, and the envelope reports which case it is."""
    session = session_on(dialect=DECLARED)
    session.call("TodoWrite", call(item("kept")))

    reply = session.call("TodoWrite", params) if door else session.execute(TOOL, params)

    assert json.loads(reply.text) == reply.details
    assert reply.is_error is ("error" in reply.details)
    kept = ["kept"] if reply.is_error else [todo["content"] for todo in reply.details["data"]["todos"]]
    assert [task.text for task in session.plan.tasks] == kept


def test_two_active_tasks_are_refused_by_the_rules() -> None:
    """The rule is part of the core, so it applies to every caller."""
    session = session_on(dialect=DECLARED)

    outcome = session.change(TOOL.steps(call(item("a", "in_progress"), item("b", "in_progress"))))

    assert outcome.faults == (TooManyActive(2),)


def test_a_blocked_task_stays_blocked_if_the_model_sends_the_status_that_it_was_shown() -> None:
    """The dialect has no blocked tasks: the model is shown a pending one. Another status is the model's decision."""
    session = session_on(dialect=DECLARED)
    session.change((Append((Task("a", BLOCKED), Task("b", BLOCKED))),))

    items = [{"content": "a", "status": "pending"}, {"content": "b", "status": "completed"}]
    session.call("TodoWrite", {"summary": "s", "todos": items})

    assert [task.status for task in session.plan.tasks] == [BLOCKED, COMPLETED]
