"""The envelope of every reply of `TodoWrite`."""

import json
from typing import Any

import pytest

from tests.plans import plan_of, session_on
from tildone.plan.codec import pretty
from tildone.plan.dialects import CompletedCall
from tildone.plan.dialects.declared import DIALECT as DECLARED
from tildone.plan.dialects.declared import write_reply
from tildone.plan.faults import NoTasks
from tildone.plan.reduce import Outcome

[TOOL] = DECLARED.tools
GOOD = {"summary": " Fix it ", "todos": [{"content": "find", "status": "completed", "id": "x9"}]}


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def done(params: dict[str, Any], **facts: Any) -> CompletedCall:
    plan = plan_of(*(item["content"] for item in params["todos"]))
    return CompletedCall(params, Outcome(plan, plan), **facts)


def test_a_success_has_exactly_the_documented_fields() -> None:
    """The fields are in the documented order, and the model reads the same envelope as the details contain."""
    reply = session_on(dialect=DECLARED).call("TodoWrite", GOOD)

    assert reply.details == {
        "status": "success",
        "data": {
            "todos": [{"id": "t1", "content": "find", "status": "completed"}],
            "recap": "[1/1] In progress: None.",
            "summary": "Fix it",
        },
        "text": "--- TODO UPDATE ---\n[✓] find\n-------------------",
        "stats": {
            "time_ms": 2,
            "total": 1,
            "pending": 0,
            "in_progress": 0,
            "completed": 1,
            "cancelled": 0,
        },
        "context": {"cwd": ".", "params_input": GOOD},
    }
    assert reply.text == json.dumps(reply.details, indent=2, ensure_ascii=False)
    assert not reply.is_error


def test_a_refusal_has_an_error_and_no_data() -> None:
    """The form is the same whether the schema or the tool refused the call."""
    session = session_on(dialect=DECLARED)

    for reply in (session.call("TodoWrite", {"summary": "s"}), session.execute(TOOL, {"summary": "s"})):
        message = reply.details["error"]["message"]
        assert list(reply.details) == ["status", "data", "text", "stats", "context", "error"]
        assert (reply.details["status"], reply.details["data"]) == ("error", {})
        assert reply.details["text"] == message
        assert message.startswith("todos: ")
        assert reply.details["stats"]["time_ms"] >= 0
        assert reply.is_error


def test_the_path_of_the_log_is_reported_if_there_is_one() -> None:
    """It is in the data and in the last line of the text."""
    saved = write_reply(done(GOOD, saved_to="memory/todos/x.md")).details
    unsaved = write_reply(done(GOOD)).details

    assert saved["data"]["persisted_to"] == "memory/todos/x.md"
    assert saved["text"].splitlines()[-1] == "(Saved to memory/todos/x.md)"
    assert "persisted_to" not in unsaved["data"]
    assert unsaved["text"].splitlines()[-1] == "-------------------"


@pytest.mark.parametrize(("took", "told"), [(0, 1), (1, 1), (7, 7)])
def test_a_success_reports_at_least_one_millisecond(took: int, told: int) -> None:
    """Readers may divide by it."""
    assert write_reply(done(GOOD, elapsed_ms=took)).details["stats"]["time_ms"] == told


def test_malformed_json_is_refused_in_an_envelope() -> None:
    """There are no arguments to echo."""
    reply = session_on(dialect=DECLARED).call("TodoWrite", '{"summary": ')

    assert reply.details["error"]["code"] == "INVALID_PARAM"
    assert reply.details["error"]["message"].startswith("expected JSON: ")
    assert reply.details["context"] == {"cwd": ".", "params_input": {}}


def test_only_the_first_problems_are_listed() -> None:
    """The reply to a thousand invalid items is as short as the reply to six."""
    reply = session_on(dialect=DECLARED).call("TodoWrite", {"summary": "s", "todos": [1] * 1000})

    message = reply.details["error"]["message"]
    assert message.startswith("todos[0]: expected an object, got 1; todos[1]: ")
    assert message.endswith("; todos[4]: expected an object, got 1; and 995 more")


def test_five_problems_are_all_listed() -> None:
    """No further problems are counted."""
    reply = session_on(dialect=DECLARED).call("TodoWrite", {"summary": "s", "todos": [1] * 5})

    assert reply.details["error"]["message"].endswith("todos[4]: expected an object, got 1")


@pytest.mark.parametrize(("levels", "repeated"), [(4, True), (15, True), (16, False), (900, False)])
def test_deeply_nested_arguments_are_not_echoed(levels: int, *, repeated: bool) -> None:
    """A kilobyte of brackets would be echoed as a megabyte of indentation, or exceed the recursion limit."""
    given = {"summary": nested(levels), "todos": []}

    reply = session_on(dialect=DECLARED).call("TodoWrite", given)

    assert reply.details["error"]["message"] == "summary: expected a string, got an array"
    assert reply.details["context"]["params_input"] == (given if repeated else {})
    assert json.loads(reply.text) == reply.details


def test_a_lone_surrogate_can_be_echoed() -> None:
    """The text can be encoded as UTF-8 and still represents what was sent."""
    content = "half \ud83d, whole 😀, backslash \\\udc00"

    reply = session_on(dialect=DECLARED).call(
        "TodoWrite", {"summary": "s", "todos": [{"content": content, "status": "pending"}]}
    )

    assert "whole 😀" in reply.text.encode().decode()
    assert json.loads(reply.text) == reply.details
    assert reply.details["data"]["todos"][0]["content"] == content


def test_pretty_json_is_indented_and_not_escaped() -> None:
    """Only lone surrogates are escaped."""
    assert pretty({"ключ": ["漢", "\n", "\udfff"]}) == ('{\n  "ключ": [\n    "漢",\n    "\\n",\n    "\\udfff"\n  ]\n}')


def test_a_fault_that_this_dialect_cannot_cause_raises() -> None:
    """An exception is better than a false message."""
    plan = plan_of()

    with pytest.raises(AssertionError):
        write_reply(CompletedCall(GOOD, Outcome(plan, plan, (NoTasks(),))))
