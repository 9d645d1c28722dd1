"""The `indexed` dialect beyond the conformance vectors, and text for models that use the tool of their agent."""

import pytest

from tests.plans import ABANDONED, BLOCKED, COMPLETED, IN_PROGRESS, plan_of, session_on
from tildone.plan.dialects import CompletedCall, with_plan
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.dialects.indexed import carry_on, edit_reply
from tildone.plan.dialects.native import (
    MAX_TEXT_CHARACTERS,
    NATIVE,
    context,
    describe_changes,
    describe_kept,
    user_tasks,
)
from tildone.plan.dialects.native import carry_on as carry_on_native
from tildone.plan.faults import EmptyNote
from tildone.plan.model import Plan, Task, flat
from tildone.plan.reduce import Outcome

REPLACE = {"mode": "replace", "todos": [{"text": "a"}, {"text": "b"}]}


def result(tool: str, **details: object) -> dict[str, object]:
    return {"type": "message", "message": {"role": "toolResult", "toolName": tool, "details": details}}


def test_text_lengths_are_checked_before_the_mode() -> None:
    """The tool is executed directly, so that the schema does not check the mode."""
    session = session_on()
    tool = INDEXED.tool("write_todos")
    assert tool

    long = session.execute(tool, {"mode": "none", "todos": [{"text": "x" * 1001}]})
    short = session.execute(tool, {"mode": "none", "todos": [{"text": "x"}]})

    assert long.details["error"] == "text too long"
    assert short.text == "Error: unknown mode 'none'"
    assert session.plan == Plan()


def test_an_integral_float_is_accepted_as_an_integer() -> None:
    """JSON does not distinguish 1.0 from 1, and neither do the replies."""
    session = session_on()
    session.call("write_todos", REPLACE)

    inserted = session.call("write_todos", {"mode": "insert", "index": 1.0, "todos": [{"text": "n"}]})
    started = session.call("edit_todos", {"action": "start", "indices": [1.0]})

    assert inserted.text.startswith("Inserted 1 item(s) at index 1\n")
    assert started.text.startswith("Started [1]\n")


def test_a_plan_without_open_tasks_has_a_nudge_and_an_impossible_fault_raises() -> None:
    """A host may ask just after the last task was closed. An exception is better than a false message."""
    assert carry_on(flat(Task("a", COMPLETED))).endswith("indices [0]")

    done = CompletedCall({"action": "start", "indices": [0]}, Outcome(plan_of(), plan_of(), (EmptyNote(),)))

    with pytest.raises(AssertionError):
        edit_reply(done)


@pytest.mark.parametrize("index", [1.5, -0.5, True, "x", "1" * 5000, [0], {}, float("nan"), float("inf")])
def test_a_position_that_is_none_changes_nothing(index: object) -> None:
    """The schema refuses it; a host that does not check the schema gets an error from the tool."""
    session = session_on()
    session.call("write_todos", REPLACE)
    before = session.plan
    write, edit = INDEXED.tool("write_todos"), INDEXED.tool("edit_todos")
    assert write
    assert edit

    inserted = session.execute(write, {"mode": "insert", "index": index, "todos": [{"text": "n"}]})
    started = session.execute(edit, {"action": "start", "indices": [0, index]})

    assert inserted.details["error"] == started.details["error"] == f"unknown index '{index}'"
    assert session.plan == before


@pytest.mark.parametrize("index", ["1", 1.0, 1], ids=repr)
def test_an_integer_in_another_form_is_a_position(index: object) -> None:
    """Also for a host that does not check the schema."""
    session = session_on()
    session.call("write_todos", REPLACE)
    tool = INDEXED.tool("edit_todos")
    assert tool

    assert session.execute(tool, {"action": "start", "indices": [index]}).text.startswith("Started [1]\n")


MIXED = flat(
    Task("Parse", COMPLETED),
    Task("Wire\nit up", IN_PROGRESS),
    Task("Ask Ada", BLOCKED, ("first", "She is away")),
    Task("Ask Bob", BLOCKED),
    Task("Ship"),
)


def test_open_tasks_are_listed_with_their_status_and_no_tool_is_named() -> None:
    """Long lists and texts are truncated."""
    assert context(MIXED) == (
        "Your plan (1 of 5 done); open:\n- Wire⏎it up (in progress)\n- Ask Ada (waits: She is away)\n"
        "- Ask Bob (waits for somebody else)\n- Ship"
    )
    assert context(Plan()) is None
    assert context(flat(Task("Parse", COMPLETED))) is None
    assert carry_on_native(plan_of("Parse")) == (
        "Your todo list is not done:\n- Parse\n"
        "Go on. Keep the list up to date: complete what is done, take out what is not needed."
    )

    told = carry_on_native(plan_of(*(f"{number} {'x' * 500}" for number in range(25))))

    assert "- and 15 more\n" in told
    assert max(map(len, told.splitlines())) == MAX_TEXT_CHARACTERS + len("- ")
    assert NATIVE.tools == ()
    planned = with_plan({}, plan_of("Parse"), Plan())
    newest_is_broken = [
        {"type": "message", "message": {"role": "toolResult", "details": each}} for each in (planned, {})
    ]
    assert (NATIVE.recover([]), NATIVE.recover(newest_is_broken)) == (None, plan_of("Parse"))
    assert NATIVE.refuse(None, (), None).is_error  # type: ignore[arg-type]  # there is no tool to hand in


def test_changes_are_listed_in_one_truncated_sentence() -> None:
    """With their authors."""
    assert describe_changes(["added “A”", "dropped “B”"]) == (
        "Your plan was changed since you last saw it: added “A”; dropped “B”."
    )
    kept = [Task("A", COMPLETED, number=1), Task("B", ABANDONED, number=2), Task("C", BLOCKED), Task("D", IN_PROGRESS)]
    assert describe_kept(kept[:2], kept[3:], numbers=True) == (
        "Your plan stays as it is: #1 “A” is done; #2 “B” is dropped; #0 “D” was removed. "
        "Change your own list accordingly."
    )
    assert "“C” is blocked; “D” is open. " in describe_kept(kept, (), numbers=False)
    assert describe_kept(kept * 4, (), numbers=False).endswith("; 8 more differ. Change your own list accordingly.")
    many = describe_changes([f"added “{number}”" for number in range(20)])
    assert many.endswith("added “7”; and 12 more changes.")
    assert len(describe_changes(["x" * 5000])) < 300
    assert describe_changes(["added “a”"], ["the user", "codex 1"]) == (
        "Your plan was changed since you last saw it (by the user, codex 1): added “a”."
    )


def test_tasks_that_a_person_added_have_another_bullet() -> None:
    """No text can imitate it. If all tasks have it, one line says so."""
    theirs, own = Task("b", from_user=True), Task("a (* from the user)")

    assert context(flat(own, theirs)) == (
        "Your plan (0 of 2 done); open:\n- a (* from the user)\n* b\n(* from the user)"
    )
    assert carry_on_native(flat(theirs)).startswith("Your todo list is not done:\n- b\n(all from the user)\nGo on.")


def test_a_text_of_another_dialect_is_followed_by_the_tasks_of_the_person() -> None:
    """Task text is in a list, one line each, and only a few are named."""
    theirs = [Task(f"task\n{number}", from_user=True) for number in range(5)]

    assert user_tasks(flat(Task("own"), *theirs)) == ("From the user:\n- task⏎0\n- task⏎1\n- task⏎2\n- and 2 more")
    assert user_tasks(flat(Task("own"), theirs[0])) == "From the user:\n- task⏎0"
    assert user_tasks(flat(Task("own", COMPLETED), *theirs)) == "All open tasks are from the user."
    assert user_tasks(flat(Task("own"), Task("theirs", COMPLETED, from_user=True))) == user_tasks(Plan()) == ""
