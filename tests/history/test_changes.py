"""The changes between two plans, as facts and as sentences."""

from typing import Any

import pytest
from hypothesis import example, given

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, PENDING, plans, proved_plans
from tests.plans import unnumbered_plan_of as plan_of
from tildone.base import replace
from tildone.plan.history.changes import Change, ChangeKind, change_sentences, changes, describe_change
from tildone.plan.model import Check, Phase, Plan, Proof, Result, Status, Task, flat, without_numbers

ABC = plan_of("a", "b", "c")


def phased(**phases: str) -> Plan:
    """Return a plan of these phases with one task per letter."""
    return Plan(tuple(Phase(name, tuple(map(Task, letters))) for name, letters in phases.items()))


@given(plans, plans)
@example(Plan(), Plan((Phase(""),)))
def test_there_are_changes_if_and_only_if_the_plans_differ(before: Plan, after: Plan) -> None:
    assert bool(changes(before, after)) == (before != after)
    assert changes(after, after) == []


@given(plans, plans)
def test_every_difference_has_sentences_of_one_line(before: Plan, after: Plan) -> None:
    sentences = change_sentences(changes(before, after))

    assert bool(sentences) == (before != after)
    assert not any("\n" in sentence for sentence in sentences)


@given(plans, plans)
def test_tasks_added_in_one_direction_are_removed_in_the_other(before: Plan, after: Plan) -> None:
    def kinds(found: list[Change], what: ChangeKind) -> list[str]:
        return sorted(change.subject for change in found if change.kind is what)

    there, back = changes(before, after), changes(after, before)

    assert kinds(there, ChangeKind.ADDED) == kinds(back, ChangeKind.REMOVED)
    assert kinds(there, ChangeKind.REMOVED) == kinds(back, ChangeKind.ADDED)


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (PENDING, IN_PROGRESS, ChangeKind.STARTED),
        (PENDING, COMPLETED, ChangeKind.COMPLETED),
        (IN_PROGRESS, ABANDONED, ChangeKind.DROPPED),
        (IN_PROGRESS, PENDING, ChangeKind.PAUSED),
        (COMPLETED, PENDING, ChangeKind.REOPENED),
        (ABANDONED, PENDING, ChangeKind.REOPENED),
        (COMPLETED, IN_PROGRESS, ChangeKind.STARTED),
    ],
)
def test_each_change_of_status_has_a_verb(before: Status, after: Status, what: ChangeKind) -> None:
    """The new status determines it."""
    assert changes(flat(Task("a", before)), flat(Task("a", after))) == [Change(what, "a")]


def test_added_and_removed_tasks_are_reported() -> None:
    """Unchanged tasks are not, wherever the new ones are."""
    assert changes(ABC, plan_of("a", "x", "c", "y")) == [
        Change(ChangeKind.REMOVED, "b"),
        Change(ChangeKind.ADDED, "x"),
        Change(ChangeKind.ADDED, "y"),
    ]


def test_a_task_added_with_a_status_and_notes_is_added_and_then_changed() -> None:
    """A task added in progress was started."""
    assert changes(Plan(), flat(Task("a", IN_PROGRESS, ("n",)), Task("b"))) == [
        Change(ChangeKind.ADDED, "a"),
        Change(ChangeKind.ADDED, "b"),
        Change(ChangeKind.STARTED, "a"),
        Change(ChangeKind.NOTED, "a", "n"),
    ]


def test_the_number_of_moved_tasks_is_minimal() -> None:
    """A task that moved to the front did not move the others."""
    assert changes(ABC, plan_of("c", "a", "b")) == [Change(ChangeKind.MOVED, "c")]
    assert changes(ABC, plan_of("b", "c", "a")) == [Change(ChangeKind.MOVED, "a")]
    assert changes(plan_of(*"abcdef"), plan_of(*"badcef")) == [
        Change(ChangeKind.MOVED, "b"),
        Change(ChangeKind.MOVED, "d"),
    ]


def test_a_task_in_another_phase_was_moved() -> None:
    """It is not added again, whatever else changed."""
    before = phased(A="ab", B="c")
    after = Plan((Phase("A", (Task("a"),)), Phase("B", (Task("c"), Task("b", COMPLETED)))))

    assert changes(before, after) == [Change(ChangeKind.MOVED, "b", "B"), Change(ChangeKind.COMPLETED, "b")]


def test_tasks_with_equal_texts_are_matched_in_order() -> None:
    assert changes(plan_of("a", "a"), flat(Task("a"), Task("a", COMPLETED))) == [Change(ChangeKind.COMPLETED, "a")]
    assert changes(plan_of("a", "a"), plan_of("a")) == [Change(ChangeKind.REMOVED, "a")]


def test_added_and_removed_notes_are_reported() -> None:
    """The common notes at the beginning are unchanged."""
    before, after = flat(Task("a", notes=("1", "2"))), flat(Task("a", notes=("1", "3", "2")))

    assert changes(flat(Task("a")), before) == [Change(ChangeKind.NOTED, "a", "1"), Change(ChangeKind.NOTED, "a", "2")]
    assert changes(before, after) == [
        Change(ChangeKind.NOTED, "a", "3"),
        Change(ChangeKind.NOTED, "a", "2"),
        Change(ChangeKind.UNNOTED, "a", "2"),
    ]


def test_added_removed_and_moved_phases_are_reported() -> None:
    """With their tasks."""
    assert changes(phased(A="a", B="b"), phased(B="b", A="a")) == [Change(ChangeKind.PHASE_MOVED, "B")]
    assert changes(phased(A="a"), phased(A="a", B="")) == [Change(ChangeKind.PHASE_ADDED, "B")]
    assert changes(phased(A="a", B="b"), phased(A="a")) == [
        Change(ChangeKind.PHASE_REMOVED, "B"),
        Change(ChangeKind.REMOVED, "b"),
    ]


def test_a_phase_that_shares_a_task_was_renamed() -> None:
    """One that shares none is a different phase."""
    assert changes(phased(A="ab"), phased(B="bc")) == [
        Change(ChangeKind.PHASE_RENAMED, "A", "B"),
        Change(ChangeKind.REMOVED, "a"),
        Change(ChangeKind.ADDED, "c"),
    ]
    assert changes(phased(A="a"), phased(B="b")) == [
        Change(ChangeKind.PHASE_REMOVED, "A"),
        Change(ChangeKind.PHASE_ADDED, "B"),
        Change(ChangeKind.REMOVED, "a"),
        Change(ChangeKind.ADDED, "b"),
    ]


def test_the_unnamed_phase_of_a_flat_list_is_not_reported() -> None:
    """Its tasks are."""
    assert changes(Plan(), plan_of("a")) == [Change(ChangeKind.ADDED, "a")]
    assert changes(plan_of("a"), Plan()) == [Change(ChangeKind.REMOVED, "a")]


def test_changes_are_short_sentences() -> None:
    """Texts are sanitized."""
    before = Plan((Phase("A", (Task("a\nb", IN_PROGRESS),)), Phase("", (Task("c"),))))
    after = Plan((Phase("B", (Task("a\nb", COMPLETED, ("n\x1b",)), Task("c"))),))

    assert change_sentences(changes(before, after)) == [
        "renamed phase “A” to “B”",
        "moved “c” to “B”",
        "completed “a⏎b”",
        "noted on “a⏎b”: n␛",
    ]
    assert change_sentences([Change(ChangeKind.PHASE_ADDED, ""), Change(ChangeKind.MOVED, "x")]) == [
        "added phase (unnamed)",
        "moved “x”",
    ]


def test_many_changes_of_one_kind_become_one_sentence_with_their_number() -> None:
    assert change_sentences(changes(Plan(), plan_of("a", "b", "c"))) == ["added “a”", "added “b”", "added “c”"]
    assert change_sentences(changes(plan_of("x"), plan_of(*"abcd"))) == ["removed “x”", "added 4 tasks"]
    assert change_sentences(changes(plan_of("a"), flat(Task("a", notes=tuple("1234"))))) == ["added 4 notes"]


def test_a_long_list_is_compared_quickly() -> None:
    """Time and memory grow linearly with the list."""
    numbers = [str(number) for number in range(20_000)]

    assert changes(plan_of(*numbers), plan_of(*numbers[1:], "0")) == [Change(ChangeKind.MOVED, "0")]


def test_a_status_without_a_verb_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A status that is added later needs no change here."""
    monkeypatch.setattr("tildone.plan.history.changes._VERBS", {})
    found = changes(plan_of("a", "b"), flat(Task("a", Status.BLOCKED), Task("b", COMPLETED)))

    assert change_sentences(found) == ["closed “b” as completed", "marked “a” as blocked"]
    assert [describe_change(change) for change in found] == ["closed as completed", "marked as blocked"]


def test_numbered_tasks_are_named_by_number_and_text() -> None:
    """Unless the sentence is for a model that counts positions."""
    before = flat(Task("a", number=3), Task("b", number=4))
    after = flat(Task("b", COMPLETED, number=4), Task("c", number=5))

    assert change_sentences(changes(before, after)) == ["removed #3 “a”", "added #5 “c”", "completed #4 “b”"]
    assert change_sentences(changes(before, after), numbers=False) == ["removed “a”", "added “c”", "completed “b”"]


def test_a_task_with_the_same_number_and_another_text_was_renamed() -> None:
    [change] = changes(flat(Task("a", number=3)), flat(Task("b", number=3)))

    assert change_sentences([change]) == ["renamed #3 “a” to “b”"]
    assert describe_change(change) == "renamed; it was “a”"


def test_tasks_that_lack_a_number_in_one_plan_are_matched_by_their_text() -> None:
    """Plans of earlier versions have no numbers."""
    assert changes(flat(Task("a"), Task("b")), flat(Task("a", number=1), Task("b", number=2))) == []
    assert changes(flat(Task("a", number=1)), flat(Task("a", number=2))) == []


def test_a_number_alone_is_the_last_resort() -> None:
    """Plans of earlier versions are numbered in their order when they are read, each on its own."""
    before, after = flat(Task("a", number=1), Task("b", number=2)), flat(Task("b", number=1))

    assert changes(before, after) == [Change(ChangeKind.REMOVED, "a", None, 1)]


def test_tasks_with_equal_texts_are_told_apart_by_their_numbers() -> None:
    before = flat(Task("a", number=1), Task("a", number=2))
    after = flat(Task("a", COMPLETED, number=2), Task("a", number=1))

    assert Change(ChangeKind.COMPLETED, "a", None, 2) in changes(before, after)


TESTS = Check(("pytest", "-q"))
LONG = Check(("make", "a b"), "sub", 30, 2, ("src",))
PASSED = Proof(Result.PASSED, TESTS.command)
FAILED = Proof(Result.FAILED, TESTS.command, reason="`pytest -q` failed with exit code 1")


def task(**attributes: Any) -> Plan:
    return flat(Task("a", number=3, **attributes))


@pytest.mark.parametrize(
    ("before", "after", "sentence", "description"),
    [
        (task(), task(check=TESTS), "set the check of #3 “a”: $ pytest -q", "set the check: $ pytest -q"),
        (
            task(check=TESTS),
            task(check=LONG),
            "changed the check of #3 “a”: $ make 'a b' [in sub, 30 s, 2 retries, watches src] (was $ pytest -q)",
            "changed the check: $ make 'a b' [in sub, 30 s, 2 retries, watches src] (was $ pytest -q)",
        ),
        (
            task(check=TESTS, proof=PASSED),
            task(),
            "removed the check of #3 “a”: was $ pytest -q",
            "removed the check: was $ pytest -q",
        ),
        (
            task(check=TESTS),
            task(check=TESTS, proof=PASSED),
            "check passed for #3 “a”: $ pytest -q",
            "check passed: $ pytest -q",
        ),
        (
            task(check=TESTS, proof=PASSED),
            task(check=TESTS, proof=FAILED),
            "check failed for #3 “a”: `pytest -q` failed with exit code 1",
            "check failed: `pytest -q` failed with exit code 1",
        ),
        (
            task(check=TESTS, proof=PASSED),
            task(check=TESTS),
            "removed the result of the check of #3 “a”: $ pytest -q",
            "removed the result of the check: $ pytest -q",
        ),
        (task(), task(after=(1, 2)), "ordered #3 “a” after #1, #2", "ordered after #1, #2"),
        (task(after=(1, 2)), task(), "ordered #3 “a” after no other", "ordered after no other"),
        (task(), task(touches=("src", "b")), "set the files of #3 “a”: src b", "set the files: src b"),
        (task(touches=("src",)), task(), "set the files of #3 “a”: none", "set the files: none"),
        (
            task(),
            replace(task(), check=TESTS),
            "set the check of the plan: $ pytest -q",
            "set the check: $ pytest -q",
        ),
        (
            replace(task(), check=TESTS),
            replace(task(), check=TESTS, proof=FAILED),
            "check failed for the plan: `pytest -q` failed with exit code 1",
            "check failed: `pytest -q` failed with exit code 1",
        ),
    ],
)
def test_changes_of_checks_order_and_files(before: Plan, after: Plan, sentence: str, description: str) -> None:
    [change] = changes(before, after)

    assert change_sentences([change]) == [sentence]
    assert describe_change(change) == description


def test_a_command_with_line_breaks_stays_on_its_line() -> None:
    [change] = changes(task(), task(check=Check(("make", "a\nb"))))

    assert "\n" not in change_sentences([change])[0] + describe_change(change)


@given(proved_plans, proved_plans)
def test_there_are_changes_if_plans_with_checks_differ(before: Plan, after: Plan) -> None:
    one, other = without_numbers(before), without_numbers(after)
    one, other = (replace(each, check=plan.check, proof=plan.proof) for each, plan in ((one, before), (other, after)))

    assert bool(changes(one, other)) == (one != other)
