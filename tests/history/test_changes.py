"""How two plans differ, told to a person."""

import pytest
from hypothesis import example, given

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, PENDING, plan_of, plans
from tildone.core.plan import Phase, Plan, Status, Task, flat
from tildone.history.changes import Change, ChangeKind, changes
from tildone.history.sentences import change_sentences, describe_change

ABC = plan_of("a", "b", "c")


def phased(**phases: str) -> Plan:
    """A plan of phases, a letter a task."""
    return Plan(tuple(Phase(name, tuple(map(Task, letters))) for name, letters in phases.items()))


@given(plans, plans)
@example(Plan(), Plan((Phase(""),)))
def test_there_are_changes_if_and_only_if_the_plans_differ(before: Plan, after: Plan) -> None:
    """Nothing is told for nothing, and nothing goes untold."""
    assert bool(changes(before, after)) == (before != after)
    assert changes(after, after) == []


@given(plans, plans)
def test_every_difference_can_be_told(before: Plan, after: Plan) -> None:
    """In sentences of one line each, if the plans differ at all."""
    said = change_sentences(changes(before, after))

    assert bool(said) == (before != after)
    assert not any("\n" in sentence for sentence in said)


@given(plans, plans)
def test_what_was_added_there_is_removed_on_the_way_back(before: Plan, after: Plan) -> None:
    """Seen from the other side."""

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
def test_a_change_of_status_has_its_verb(before: Status, after: Status, what: ChangeKind) -> None:
    """Each by what the task has become."""
    assert changes(flat(Task("a", before)), flat(Task("a", after))) == [Change(what, "a")]


def test_tasks_come_and_go() -> None:
    """Those that stay are not spoken of, wherever the new ones stand."""
    assert changes(ABC, plan_of("a", "x", "c", "y")) == [
        Change(ChangeKind.REMOVED, "b"),
        Change(ChangeKind.ADDED, "x"),
        Change(ChangeKind.ADDED, "y"),
    ]


def test_what_is_added_with_a_status_and_notes_was_added_and_then_changed() -> None:
    """A first task that came in progress was started."""
    assert changes(Plan(), flat(Task("a", IN_PROGRESS, ("n",)), Task("b"))) == [
        Change(ChangeKind.ADDED, "a"),
        Change(ChangeKind.ADDED, "b"),
        Change(ChangeKind.STARTED, "a"),
        Change(ChangeKind.NOTED, "a", "n"),
    ]


def test_as_few_tasks_as_can_be_have_moved() -> None:
    """One that went to the front did not push the others."""
    assert changes(ABC, plan_of("c", "a", "b")) == [Change(ChangeKind.MOVED, "c")]
    assert changes(ABC, plan_of("b", "c", "a")) == [Change(ChangeKind.MOVED, "a")]
    assert changes(plan_of(*"abcdef"), plan_of(*"badcef")) == [
        Change(ChangeKind.MOVED, "b"),
        Change(ChangeKind.MOVED, "d"),
    ]


def test_a_task_that_changed_its_phase_moved_there() -> None:
    """And is not added anew, whatever else became of it."""
    before = phased(A="ab", B="c")
    after = Plan((Phase("A", (Task("a"),)), Phase("B", (Task("c"), Task("b", COMPLETED)))))

    assert changes(before, after) == [Change(ChangeKind.MOVED, "b", "B"), Change(ChangeKind.COMPLETED, "b")]


def test_tasks_of_one_text_are_told_apart_by_their_order() -> None:
    """The second of two is the one that was completed."""
    assert changes(plan_of("a", "a"), flat(Task("a"), Task("a", COMPLETED))) == [Change(ChangeKind.COMPLETED, "a")]
    assert changes(plan_of("a", "a"), plan_of("a")) == [Change(ChangeKind.REMOVED, "a")]


def test_notes_come_and_go() -> None:
    """What stood at the beginning and still stands there is kept."""
    before, after = flat(Task("a", notes=("1", "2"))), flat(Task("a", notes=("1", "3", "2")))

    assert changes(flat(Task("a")), before) == [Change(ChangeKind.NOTED, "a", "1"), Change(ChangeKind.NOTED, "a", "2")]
    assert changes(before, after) == [
        Change(ChangeKind.NOTED, "a", "3"),
        Change(ChangeKind.NOTED, "a", "2"),
        Change(ChangeKind.UNNOTED, "a", "2"),
    ]


def test_phases_come_go_and_move() -> None:
    """With their tasks."""
    assert changes(phased(A="a", B="b"), phased(B="b", A="a")) == [Change(ChangeKind.PHASE_MOVED, "B")]
    assert changes(phased(A="a"), phased(A="a", B="")) == [Change(ChangeKind.PHASE_ADDED, "B")]
    assert changes(phased(A="a", B="b"), phased(A="a")) == [
        Change(ChangeKind.PHASE_REMOVED, "B"),
        Change(ChangeKind.REMOVED, "b"),
    ]


def test_a_phase_that_kept_a_task_was_renamed() -> None:
    """One that kept none is another phase."""
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


def test_a_flat_list_comes_and_goes_without_a_word_about_its_phase() -> None:
    """Its tasks say enough."""
    assert changes(Plan(), plan_of("a")) == [Change(ChangeKind.ADDED, "a")]
    assert changes(plan_of("a"), Plan()) == [Change(ChangeKind.REMOVED, "a")]


def test_changes_are_told_in_short_sentences() -> None:
    """Whatever a text holds stays on its line."""
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


def test_many_changes_of_a_kind_are_counted() -> None:
    """A new plan is not read out, nor is everything that was said about a task."""
    assert change_sentences(changes(Plan(), plan_of("a", "b", "c"))) == ["added “a”", "added “b”", "added “c”"]
    assert change_sentences(changes(plan_of("x"), plan_of(*"abcd"))) == ["removed “x”", "added 4 tasks"]
    assert change_sentences(changes(plan_of("a"), flat(Task("a", notes=tuple("1234"))))) == ["added 4 notes"]


def test_a_long_list_is_compared_quickly() -> None:
    """Time and room grow with the list, not with its square."""
    numbers = [str(number) for number in range(20_000)]

    assert changes(plan_of(*numbers), plan_of(*numbers[1:], "0")) == [Change(ChangeKind.MOVED, "0")]


def test_a_status_without_a_verb_of_its_own_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A status that is added later is told without a further line here."""
    monkeypatch.setattr("tildone.history.changes._VERBS", {})
    found = changes(plan_of("a", "b"), flat(Task("a", Status.BLOCKED), Task("b", COMPLETED)))

    assert change_sentences(found) == ["closed “b” as completed", "marked “a” as blocked"]
    assert [describe_change(change) for change in found] == ["closed as completed", "marked as blocked"]
