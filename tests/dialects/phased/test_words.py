"""The text about phases that a model reads."""

import pytest
from hypothesis import given

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, plans
from tildone.base.schema import SchemaProblem
from tildone.plan.dialects import CompletedCall
from tildone.plan.dialects.phased import DIALECT as PHASED
from tildone.plan.dialects.phased import carry_on, errors, refuse, reply, sentence, summary
from tildone.plan.faults import DuplicateTask, EmptyNote, Fault, MissingField, NoTasks, PhaseMissing, TaskMissing
from tildone.plan.model import Phase, Plan, Task
from tildone.plan.reduce import Outcome

MIXED = Plan(
    (
        Phase("Auth", (Task("wire", COMPLETED, ("a", "b")), Task("mock", ABANDONED))),
        Phase("Docs", (Task("outline", notes=("later",)), Task("write", IN_PROGRESS, ("one\ntwo", "three")))),
    )
)


def test_a_summary_lists_open_tasks_progress_and_all_phases() -> None:
    """Notes are counted for every task and shown for the task in progress only."""
    assert summary(MIXED) == (
        "Remaining items (2):\n"
        "  - outline [pending] (Docs)\n"
        "  - write [in_progress] (Docs)\n"
        'Phase 2/2 "Docs" — 0/2 tasks complete\n'
        "  Auth:\n"
        "    ✓ wire (+2 notes)\n"
        "    ✗ mock\n"
        "  Docs:\n"
        "    ○ outline (+1 note)\n"
        "    → write (+2 notes)\n"
        "        one\n"
        "        two\n"
        "        ---\n"
        "        three"
    )


@pytest.mark.parametrize("plan", [Plan(), Plan((Phase("Auth"), Phase("Docs")))], ids=["none", "empty phases"])
def test_a_plan_without_tasks_has_no_summary(plan: Plan) -> None:
    assert summary(plan) == ""


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


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (MissingField("list", "init"), "Missing list for init operation"),
        (MissingField("task", "start"), "Missing task content"),
        (MissingField("phase", "append"), "Missing phase name for append operation"),
        (MissingField("items", "append"), "Missing items for append operation"),
        (EmptyNote(), "Missing text for note operation"),
        (TaskMissing("a\nb", empty=False), 'Task "a⏎b" not found'),
        (PhaseMissing("a\nb"), 'Phase "a⏎b" not found'),
        (DuplicateTask("a\nb"), 'Task "a⏎b" already exists'),
    ],
)
def test_every_fault_of_this_dialect_has_a_message(fault: Fault, said: str) -> None:
    assert sentence(fault) == said


def test_a_fault_of_another_dialect_raises() -> None:
    with pytest.raises(AssertionError):
        sentence(NoTasks())


def test_each_hint_is_given_once() -> None:
    """It follows the first fault that needs it."""
    faults = (
        TaskMissing("ghost", empty=False),
        TaskMissing("task-7", empty=False),
        TaskMissing("task-8", empty=False),
        TaskMissing("task-9", empty=True),
        TaskMissing("ghost", empty=True),
    )

    assert errors(faults) == (
        'Errors: Task "ghost" not found; Task "task-7" not found (name a task by its text); '
        'Task "task-8" not found; Task "task-9" not found (the list is empty: init it first); '
        'Task "ghost" not found'
    )


@pytest.mark.parametrize("name", ["task-", "Task-3", "task-3 ", "a task-3", "task-٣"])
def test_only_names_that_look_like_ids_get_a_hint(name: str) -> None:
    assert errors((TaskMissing(name, empty=False),)) == f'Errors: Task "{name}" not found'


def test_a_reply_names_the_tasks_that_the_call_completed() -> None:
    before = Plan((Phase("A", (Task("x", IN_PROGRESS), Task("y", COMPLETED))),))
    after = Plan((Phase("A", (Task("x", COMPLETED), Task("y", COMPLETED))),))

    answer = reply(CompletedCall({}, Outcome(before, after), durable=True))

    assert answer.details["completedTasks"] == [{"phase": "A", "content": "x"}]
    assert answer.details["storage"] == "session"


def test_a_refusal_says_that_nothing_changed() -> None:
    answer = refuse(PHASED.tools[0], [SchemaProblem("ops", "expected an array"), SchemaProblem("x", "required")], {})

    assert answer.text == "Errors: ops: expected an array; x: required. Nothing changed."
    assert answer.is_error
    assert answer.details == {}


def test_there_is_no_context_at_the_start_of_a_turn() -> None:
    assert PHASED.context(MIXED) is None


def test_the_reminder_lists_open_tasks_and_its_number() -> None:
    assert carry_on(MIXED) == (
        "You stopped, and these todos are open:\n"
        "  - outline [pending] (Docs)\n"
        "  - write [in_progress] (Docs)\n"
        "Go on. Mark each done or dropped with todo_write."
    )
