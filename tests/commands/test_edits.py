"""A person's changes to a plan: what each verb answers, and what its steps do."""

import pytest
from hypothesis import given

from tests.plans import ABANDONED, BLOCKED, COMPLETED, IN_PROGRESS, PENDING, numbered_plans, plan_of, rules
from tildone.app import commands
from tildone.app.commands import Answer, FailureReason, Place
from tildone.plan.model import Check, Phase, Plan, Rules, Status, Task, flat, numbered
from tildone.plan.ops import Append, Mark, Move, Note, Numbered, Order, Remove, Rename, SetCheck, Touch, Write
from tildone.plan.reduce import Step, reduce

PLAN = numbered(
    Plan(
        (
            Phase("Build", (Task("Parse", COMPLETED), Task("Wire up", IN_PROGRESS), Task("npm install"))),
            Phase("Ship", (Task("Deploy", BLOCKED, ("key",)), Task("Tell", ABANDONED))),
        )
    )
)


def message(answer: Answer) -> str:
    return "\n".join(each.text for each in answer.messages)


def refused(answer: Answer, reason: FailureReason) -> str:
    assert (answer.steps, answer.failure) == (None, reason)
    return message(answer)


def test_texts_are_added_as_they_are() -> None:
    assert commands.add(PLAN, ["npm run build", "iOS build"]).steps == (
        Append((Task("npm run build"), Task("iOS build")), None),
    )
    assert commands.add(PLAN, ["x"], "SHIP").steps == (Append((Task("x"),), "Ship"),)
    assert commands.add(PLAN, ["x"], "shipping").steps == (Append((Task("x"),), "shipping"),)
    assert commands.add(Plan(), ["x"]).steps == (Append((Task("x"),), ""),)
    assert refused(commands.add(PLAN, ["x", " "]), FailureReason.USAGE) == "A task needs a text"
    assert refused(commands.add(PLAN, []), FailureReason.USAGE) == "A task needs a text"


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        (None, "Added to Ship: #6 a; #7 b"),
        ("build", "Added to Build: #6 a; #7 b"),
        ("New\none", "Added to the new phase New⏎one: #6 a; #7 b"),
    ],
)
def test_added_tasks_are_reported_with_their_numbers(phase: str | None, said: str) -> None:
    steps = commands.add(PLAN, ["a", "b"], phase).steps or ()

    assert commands.added(PLAN, reduce(PLAN, steps, Rules()).after) == said


def test_tasks_added_to_a_flat_list_are_reported_without_a_phase() -> None:
    assert commands.added(Plan(), plan_of("a")) == "Added: #1 a"


def test_of_a_phase_or_the_whole_plan_only_open_tasks_are_closed() -> None:
    closed = numbered(Plan((Phase("A", (Task("a", COMPLETED),)),)))

    assert commands.close(PLAN, [], ABANDONED).steps == (Mark(Numbered((2, 3, 4)), ABANDONED),)
    assert message(commands.close(PLAN, [], ABANDONED)) == "Dropped: all 3 open tasks"
    assert commands.close(PLAN, ["build"], COMPLETED).steps == (Mark(Numbered((2, 3)), COMPLETED),)
    assert message(commands.close(PLAN, ["build"], COMPLETED)) == "Done: all of Build"
    assert commands.close(closed, [], COMPLETED) == commands.unchanged("no task is open")
    assert commands.close(closed, ["A"], COMPLETED).steps is not None
    assert (
        message(commands.close(Plan((Phase("Empty"),)), ["empty"], COMPLETED))
        == "Nothing changed: no task is open in Empty."
    )


def test_tasks_are_removed() -> None:
    assert commands.remove(PLAN, ["5", "4"]).steps == (Remove(Numbered((5, 4))),)
    assert commands.remove(PLAN, ["ship"]).steps == (Remove(Numbered((4, 5))),)
    assert commands.remove(PLAN, []).steps == (Write(()),)
    assert message(commands.remove(PLAN, [])) == "Removed: all 5 tasks"
    assert commands.remove(Plan(), []) == commands.unchanged("there are no tasks")
    assert refused(commands.remove(PLAN, ["nope"]), FailureReason.UNMATCHED)


def test_a_task_is_blocked_for_a_reason() -> None:
    """The same reason is not noted twice."""
    blocked = Mark(Numbered((3,)), BLOCKED)

    assert commands.block(PLAN, ["3"], "no key").steps == (blocked, Note(Numbered((3,)), "no key"))
    assert message(commands.block(PLAN, ["3"], "no\nkey")) == "Blocked: #3 npm install (no⏎key)"
    assert commands.block(PLAN, ["3"], "").steps == (blocked,)
    assert commands.block(PLAN, ["4"], "key").steps == (Mark(Numbered((4,)), BLOCKED),)
    assert refused(commands.block(PLAN, ["1"], ""), FailureReason.REFUSED) == (
        "#1 Parse is completed; only an open task can be blocked"
    )


def test_a_task_is_renamed_and_noted_on() -> None:
    assert commands.rename(PLAN, ["3"], "yarn").steps == (Rename(Numbered((3,)), "yarn"),)
    assert message(commands.rename(PLAN, ["3"], "yarn")) == "Renamed: #3 yarn (was: npm install)"
    assert commands.note(PLAN, ["3"], " why ").steps == (Note(Numbered((3,)), " why "),)
    assert refused(commands.rename(PLAN, ["3"], " "), FailureReason.USAGE) == "A task needs a text"
    assert refused(commands.note(PLAN, ["3"], ""), FailureReason.USAGE) == "A note needs a text"


def test_a_text_that_was_edited_in_place_is_a_rename() -> None:
    """Not if tasks were added or removed, nor if the new text is another task's."""
    before = plan_of("a", "b", "c")

    assert commands.renamed_in_place(before, plan_of("a", "x", "c")) == (Rename(Numbered((2,)), "x"),)
    assert commands.renamed_in_place(before, plan_of("a", "c", "b")) == ()
    assert commands.renamed_in_place(before, plan_of("a", "x")) == ()
    assert commands.renamed_in_place(before, plan_of("x", "x", "c")) == ()


def test_what_closes_renames_or_removes_a_task_takes_something_away() -> None:
    before = numbered(flat(Task("a"), Task("b", COMPLETED)))
    steps: dict[Step, bool] = {
        Mark(Numbered((1,)), COMPLETED): True,
        Mark(Numbered((1,)), IN_PROGRESS): False,
        Mark(Numbered((2,)), PENDING): False,
        Mark(Numbered((2,)), ABANDONED): False,
        Rename(Numbered((2,)), "x"): True,
        Remove(Numbered((2,))): True,
        Move(Numbered((1,))): False,
        Append((Task("c"),)): False,
    }

    for step, takes_away in steps.items():
        assert commands.took_away(before, reduce(before, [step], Rules()).after) is takes_away, step


@pytest.mark.parametrize(
    ("plan", "to", "question"),
    [
        (PLAN, COMPLETED, "Mark all 3 open tasks as completed?"),
        (plan_of("a"), ABANDONED, "Mark #1 a as abandoned?"),
        (PLAN, None, "Remove all 5 tasks?"),
        (Plan(), None, ""),
        (Plan(), COMPLETED, ""),
    ],
)
def test_the_question_before_a_change_of_all_tasks_says_how_many(plan: Plan, to: Status | None, question: str) -> None:
    assert commands.closing_question(plan, to) == question


@given(numbered_plans, rules)
def test_no_verb_returns_steps_that_the_plan_refuses(plan: Plan, own: Rules) -> None:
    """Except that the rules may forbid the new text of a task."""
    for words in (["a"], ["3"], ["4", "5"], ["A"]):
        answers = [
            commands.start(plan, words),
            commands.close(plan, words, COMPLETED),
            commands.remove(plan, words),
            commands.block(plan, words, "why"),
            commands.unblock(plan, words),
            commands.reopen(plan, words),
            commands.note(plan, words, "n"),
            *(commands.move(plan, words, place, "b") for place in Place),
        ]
        for answer in answers:
            assert answer.steps is None or reduce(plan, answer.steps, answer.rules(own)).faults == ()


def test_an_edited_text_removes_what_it_no_longer_has() -> None:
    """Also if a task was renamed in place, or if the order was reversed."""
    make = Check(("make",))
    steps: list[Step] = [SetCheck(Numbered((1,)), make), Order(Numbered((2,)), (1,)), Touch(Numbered((2,)), ("src",))]
    before = reduce(plan_of("a", "b"), [*steps, SetCheck(None, make)], Rules()).after

    bare = reduce(before, commands.edited(before, flat(Task("A"), Task("b"))), Rules()).after
    reversed_ = reduce(
        before, commands.edited(before, flat(Task("a", after=(2,)), Task("b"), Task("c"))), Rules()
    ).after
    same = commands.edited(
        before, Plan((Phase("", (Task("a", check=make), Task("b", after=(1,), touches=("src",)))),), check=make)
    )

    assert bare == numbered(flat(Task("A"), Task("b")))
    assert [(task.number, task.after) for task in reversed_.tasks] == [(1, (2,)), (2, ()), (3, ())]
    assert not reduce(before, same, Rules()).changed
