"""The phased dialect: ops, plans as plain data, snapshots, `todo_write` on a session, and the text about phases."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, plans, session_on
from tildone.base.schema import SchemaProblem, schema_problems
from tildone.log.session import Session
from tildone.plan import codec
from tildone.plan.dialects import CompletedCall
from tildone.plan.dialects.phased import DIALECT as PHASED
from tildone.plan.dialects.phased import (
    OPS,
    PARAMETERS,
    carry_on,
    demands,
    errors,
    phases_in,
    phases_out,
    recover,
    refuse,
    reply,
    sentence,
    steps,
    summary,
)
from tildone.plan.faults import DuplicateTask, MissingField, NoTasks, PhaseMissing, TaskMissing
from tildone.plan.model import Phase, Plan, Status, Task, without_numbers
from tildone.plan.ops import Write
from tildone.plan.reduce import Outcome


def test_init_without_a_list_clears_and_is_a_fault() -> None:
    """The recordings (`tests/conformance`) have every other op."""
    assert steps({"ops": [{"op": "init"}]}) == [Write(()), MissingField("list", "init")]


def test_an_unknown_op_is_refused_by_the_schema() -> None:
    """Without schema checks it raises, and no op of its batch is applied."""
    params = {"ops": [{"op": "done"}, {"op": "finish"}]}

    assert schema_problems(PARAMETERS, params) == [
        SchemaProblem("ops[1].op", "expected one of init, start, done, rm, drop, append, note, got 'finish'")
    ]
    with pytest.raises(AssertionError, match="finish"):
        steps(params)


@pytest.mark.parametrize(
    "params",
    [
        {"ops": [{"op": "init", "list": []}]},
        {"ops": [{"op": "init", "list": [{"phase": "Auth", "items": ["wire"], "why": 1}]}], "more": True},
        {"ops": [{"op": "append"}, {"op": "start"}, {"op": "note"}]},
        {"ops": [{"op": "done", "items": [" "]}]},
    ],
    ids=["cleared on purpose", "extra keys", "faults of single ops", "fields that the op does not use"],
)
def test_validation_accepts_calls_that_the_ops_can_report_on(params: dict[str, Any]) -> None:
    assert schema_problems(PARAMETERS, params) == []
    assert demands(params) == []


@pytest.mark.parametrize(
    ("entry", "path", "expected"),
    [
        (
            {"op": "init", "list": [{"phase": " ", "items": ["wire"]}]},
            "ops[1].list[0].phase",
            "expected some text, got none",
        ),
        (
            {"op": "init", "list": [{"phase": "Auth", "items": ["wire", "\ufeff"]}]},
            "ops[1].list[0].items[1]",
            "expected some text, got none",
        ),
        ({"op": "append", "phase": "Auth", "items": [""]}, "ops[1].items[0]", "expected some text, got none"),
    ],
)
def test_validation_refuses_what_no_later_op_could_correct(entry: dict[str, Any], path: str, expected: str) -> None:
    """Blank names could not be addressed later."""
    params = {"ops": [{"op": "done"}, entry]}

    assert schema_problems(PARAMETERS, params) == []
    assert demands(params) == [SchemaProblem(path, expected)]


Json = dict[str, Any]

OLD = [{"name": "old", "tasks": [{"content": "x", "status": "pending"}]}]


def result(details: object, **more: object) -> Json:
    told = {"role": "toolResult", "toolName": "todo_write", "isError": False, "details": details}
    return {"type": "message", "message": told | more}


@given(plans)
def test_plain_data_round_trips(plan: Plan) -> None:
    assert phases_in(phases_out(plan)) == plan


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


TOKENS = 250

words = st.sampled_from(["", " ", "a", "b", "a\nb", "a⏎b", "task-1", "\ud800"])
items = st.lists(words, min_size=1, max_size=3)
lists = st.lists(st.fixed_dictionaries({"phase": words, "items": items}), max_size=3)
entries = st.fixed_dictionaries(
    {"op": st.sampled_from(OPS)}, optional={"list": lists, "task": words, "phase": words, "items": items, "text": words}
)


def started(**phases: list[str]) -> Session:
    session = session_on(dialect=PHASED)
    lists = [{"phase": name, "items": items} for name, items in phases.items()]
    session.call("todo_write", {"ops": [{"op": "init", "list": lists}]})
    return session


def write(session: Session, *ops: dict[str, Any]) -> str:
    return session.call("todo_write", {"ops": list(ops)}).text


def test_tasks_and_phases_can_be_named_as_they_are_displayed() -> None:
    """A line break is displayed as ⏎, so models write ⏎. An exact name takes precedence."""
    session = started(Auth=["a\nb", "a⏎b"])

    write(session, {"op": "drop", "task": "a⏎b"})

    assert [task.status for task in session.plan.tasks] == [IN_PROGRESS, ABANDONED]

    session = session_on(dialect=PHASED)
    write(session, {"op": "init", "list": [{"phase": "Auth\n2", "items": ["wire"]}]})

    write(session, {"op": "done", "phase": "Auth⏎2"})

    assert without_numbers(session.plan) == Plan((Phase("Auth\n2", (Task("wire", COMPLETED),)),))

    session = started(**{"A\nB": ["one"], "A⏎B": ["two"]})

    write(session, {"op": "drop", "phase": "A⏎B"})

    assert [task.status for task in session.plan.tasks] == [IN_PROGRESS, ABANDONED]


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


MIXED = Plan(
    (
        Phase("Auth", (Task("wire", COMPLETED, ("a", "b")), Task("mock", ABANDONED))),
        Phase("Docs", (Task("outline", notes=("later",)), Task("write", IN_PROGRESS, ("one\ntwo", "three")))),
    )
)


def test_text_cannot_forge_lines() -> None:
    """Task, phase and note contain every kind of line break; the lines of a note stay below their task."""
    plan = Plan((Phase("A\n  B:", (Task("x\r\n    ✓ y\u2028z", IN_PROGRESS, ("n\r\nm\r    ✓ y\x85k",)),)),))

    assert summary(plan).split("\n") == [
        "Remaining items (1):",
        "  - x⏎    ✓ y⏎z [in_progress] (A⏎  B:)",
        'Phase 1/1 "A⏎  B:" — 0/1 tasks complete',
        "  A⏎  B::",
        "    → x⏎    ✓ y⏎z (+1 note)",
        "        n\r",
        "        m⏎    ✓ y⏎k",
    ]


@given(plans)
def test_a_summary_has_one_line_per_item(plan: Plan) -> None:
    open_tasks = [task for task in plan.tasks if task.status.is_open]
    told = [note for task in plan.tasks if task.status is IN_PROGRESS for note in task.notes]
    notes = sum(note.count("\n") + 1 for note in told)
    breaks = sum(max(0, len(task.notes) - 1) for task in plan.tasks if task.status is IN_PROGRESS)

    lines = summary(plan).splitlines()

    body = 2 + len(open_tasks) + len(plan.phases) + len(plan.tasks) + notes + breaks
    assert len(lines) == (body if plan.tasks else 0)


def test_the_reminder_lists_open_tasks_and_no_turn_starts_with_a_context() -> None:
    """A fault of another dialect raises."""
    assert PHASED.context(MIXED) is None
    assert carry_on(MIXED) == (
        "You stopped, and these todos are open:\n"
        "  - outline [pending] (Docs)\n"
        "  - write [in_progress] (Docs)\n"
        "Go on. Mark each done or dropped with todo_write."
    )

    with pytest.raises(AssertionError):
        sentence(NoTasks())


def test_texts_in_faults_are_on_one_line() -> None:
    assert errors((TaskMissing("a\nb", empty=False), PhaseMissing("a\nb"), DuplicateTask("a\nb"))) == (
        'Errors: Task "a⏎b" not found; Phase "a⏎b" not found; Task "a⏎b" already exists'
    )


@pytest.mark.parametrize("name", ["task-", "Task-3", "task-3 ", "a task-3", "task-٣"])
def test_only_names_that_look_like_ids_get_a_hint(name: str) -> None:
    assert errors((TaskMissing(name, empty=False),)) == f'Errors: Task "{name}" not found'


def test_a_reply_names_the_tasks_that_the_call_completed() -> None:
    """A refusal says that nothing changed."""
    before = Plan((Phase("A", (Task("x", IN_PROGRESS), Task("y", COMPLETED))),))
    after = Plan((Phase("A", (Task("x", COMPLETED), Task("y", COMPLETED))),))

    answer = reply(CompletedCall({}, Outcome(before, after), durable=True))

    assert answer.details["completedTasks"] == [{"phase": "A", "content": "x"}]
    assert answer.details["storage"] == "session"

    answer = refuse(PHASED.tools[0], [SchemaProblem("ops", "expected an array"), SchemaProblem("x", "required")], {})

    assert answer.text == "Errors: ops: expected an array; x: required. Nothing changed."
    assert answer.is_error
    assert answer.details == {}
