"""`todo_write` as a model uses it, on a session."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, PENDING, session_on
from tildone.log.session import Session
from tildone.plan import codec
from tildone.plan.dialects.phased import DIALECT as PHASED
from tildone.plan.dialects.phased import OPS, phases_out
from tildone.plan.model import Phase, Plan, Task, without_numbers

TOKENS = 250

words = st.sampled_from(["", " ", "a", "b", "a\nb", "a⏎b", "task-1", "\ud800"])
items = st.lists(words, min_size=1, max_size=3)
lists = st.lists(st.fixed_dictionaries({"phase": words, "items": items}), max_size=3)
entries = st.fixed_dictionaries(
    {"op": st.sampled_from(OPS)},
    optional={"list": lists, "task": words, "phase": words, "items": items, "text": words},
)


def started(**phases: list[str]) -> Session:
    session = session_on(dialect=PHASED)
    lists = [{"phase": name, "items": items} for name, items in phases.items()]
    session.call("todo_write", {"ops": [{"op": "init", "list": lists}]})
    return session


def write(session: Session, *ops: dict[str, Any]) -> str:
    return session.call("todo_write", {"ops": list(ops)}).text


def test_a_task_can_be_named_as_it_is_displayed() -> None:
    """A line break is displayed as ⏎, so models write ⏎."""
    session = started(Auth=["wire\nit"])

    answer = write(session, {"op": "done", "task": "wire⏎it"})

    assert "✓ wire⏎it" in answer
    assert session.plan.tasks == (Task("wire\nit", COMPLETED, number=1),)


def test_an_exact_task_name_takes_precedence_over_a_displayed_one() -> None:
    session = started(Auth=["a\nb", "a⏎b"])

    write(session, {"op": "drop", "task": "a⏎b"})

    assert [task.status for task in session.plan.tasks] == [IN_PROGRESS, ABANDONED]


def test_a_phase_can_be_named_as_it_is_displayed() -> None:
    session = session_on(dialect=PHASED)
    write(session, {"op": "init", "list": [{"phase": "Auth\n2", "items": ["wire"]}]})

    write(session, {"op": "done", "phase": "Auth⏎2"})

    assert without_numbers(session.plan) == Plan((Phase("Auth\n2", (Task("wire", COMPLETED),)),))


def test_an_exact_phase_name_takes_precedence_over_a_displayed_one() -> None:
    session = started(**{"A\nB": ["one"], "A⏎B": ["two"]})

    write(session, {"op": "drop", "phase": "A⏎B"})

    assert [task.status for task in session.plan.tasks] == [IN_PROGRESS, ABANDONED]


def test_starting_a_task_returns_the_other_to_pending() -> None:
    session = started(Auth=["wire", "test"])

    write(session, {"op": "start", "task": "test"})

    assert [task.status for task in session.plan.tasks] == [PENDING, IN_PROGRESS]


@given(st.lists(st.lists(entries, min_size=1, max_size=4), max_size=4))
def test_every_reply_contains_the_current_plan(calls: list[list[dict[str, Any]]]) -> None:
    """One task is in progress while any is open, and the details contain the session's plan."""
    session = session_on(dialect=PHASED)

    for ops in calls:
        answer = session.call("todo_write", {"ops": ops})

        active = [task for task in session.plan.tasks if task.status is IN_PROGRESS]
        assert len(active) == any(task.status.is_open for task in session.plan.tasks)
        assert answer.details.get("phases", phases_out(session.plan)) == phases_out(session.plan)
        assert answer.is_error == answer.text.startswith("Errors: ")


def test_the_tool_costs_a_model_less_than_a_quarter_of_the_original() -> None:
    """Words and punctuation marks approximate tokens; the original has 1,028 of them."""
    (tool,) = PHASED.tools

    said = tool.description + codec.dump(tool.parameters)

    assert len(re.findall(r"[^\r\n\w]?\w+|[^\s\w]+|\s+", said)) < TOKENS


def test_init_without_a_list_leaves_the_other_ops_alone() -> None:
    session = started(A=["x"])

    ops = [{"op": "init"}, {"op": "append", "phase": "A", "items": ["a"]}, {"op": "init", "list": None}]
    reply = session.call("todo_write", {"ops": ops})

    assert reply.text.count("Missing list for init operation") == 2
    assert [task.text for task in session.plan.tasks] == ["x", "a"]
