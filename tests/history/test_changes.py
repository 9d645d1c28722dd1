"""How two plans differ, told to a person."""

import pytest
from hypothesis import example, given

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, PENDING, plan_of, plans
from tildone.core.plan import Phase, Plan, Status, Task, flat
from tildone.history.blame import said
from tildone.history.changes import Change, What, changes, told

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
    said = told(changes(before, after))

    assert bool(said) == (before != after)
    assert not any("\n" in sentence for sentence in said)


@given(plans, plans)
def test_what_was_added_there_is_removed_on_the_way_back(before: Plan, after: Plan) -> None:
    """Seen from the other side."""

    def kinds(found: list[Change], what: What) -> list[str]:
        return sorted(change.subject for change in found if change.what is what)

    there, back = changes(before, after), changes(after, before)

    assert kinds(there, What.ADDED) == kinds(back, What.REMOVED)
    assert kinds(there, What.REMOVED) == kinds(back, What.ADDED)


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (PENDING, IN_PROGRESS, What.STARTED),
        (PENDING, COMPLETED, What.COMPLETED),
        (IN_PROGRESS, ABANDONED, What.DROPPED),
        (IN_PROGRESS, PENDING, What.PAUSED),
        (COMPLETED, PENDING, What.REOPENED),
        (ABANDONED, PENDING, What.REOPENED),
        (COMPLETED, IN_PROGRESS, What.STARTED),
    ],
)
def test_a_change_of_status_has_its_verb(before: Status, after: Status, what: What) -> None:
    """Each by what the task has become."""
    assert changes(flat(Task("a", before)), flat(Task("a", after))) == [Change(what, "a")]


def test_tasks_come_and_go() -> None:
    """Those that stay are not spoken of, wherever the new ones stand."""
    assert changes(ABC, plan_of("a", "x", "c", "y")) == [
        Change(What.REMOVED, "b"),
        Change(What.ADDED, "x"),
        Change(What.ADDED, "y"),
    ]


def test_what_is_added_with_a_status_and_notes_was_added_and_then_changed() -> None:
    """A first task that came in progress was started."""
    assert changes(Plan(), flat(Task("a", IN_PROGRESS, ("n",)), Task("b"))) == [
        Change(What.ADDED, "a"),
        Change(What.ADDED, "b"),
        Change(What.STARTED, "a"),
        Change(What.NOTED, "a", "n"),
    ]


def test_as_few_tasks_as_can_be_have_moved() -> None:
    """One that went to the front did not push the others."""
    assert changes(ABC, plan_of("c", "a", "b")) == [Change(What.MOVED, "c")]
    assert changes(ABC, plan_of("b", "c", "a")) == [Change(What.MOVED, "a")]
    assert changes(plan_of(*"abcdef"), plan_of(*"badcef")) == [Change(What.MOVED, "b"), Change(What.MOVED, "d")]


def test_a_task_that_changed_its_phase_moved_there() -> None:
    """And is not added anew, whatever else became of it."""
    before = phased(A="ab", B="c")
    after = Plan((Phase("A", (Task("a"),)), Phase("B", (Task("c"), Task("b", COMPLETED)))))

    assert changes(before, after) == [Change(What.MOVED, "b", "B"), Change(What.COMPLETED, "b")]


def test_tasks_of_one_text_are_told_apart_by_their_order() -> None:
    """The second of two is the one that was completed."""
    assert changes(plan_of("a", "a"), flat(Task("a"), Task("a", COMPLETED))) == [Change(What.COMPLETED, "a")]
    assert changes(plan_of("a", "a"), plan_of("a")) == [Change(What.REMOVED, "a")]


def test_notes_come_and_go() -> None:
    """What stood at the beginning and still stands there is kept."""
    before, after = flat(Task("a", notes=("1", "2"))), flat(Task("a", notes=("1", "3", "2")))

    assert changes(flat(Task("a")), before) == [Change(What.NOTED, "a", "1"), Change(What.NOTED, "a", "2")]
    assert changes(before, after) == [
        Change(What.NOTED, "a", "3"),
        Change(What.NOTED, "a", "2"),
        Change(What.UNNOTED, "a", "2"),
    ]


def test_phases_come_go_and_move() -> None:
    """With their tasks."""
    assert changes(phased(A="a", B="b"), phased(B="b", A="a")) == [Change(What.PHASE_MOVED, "B")]
    assert changes(phased(A="a"), phased(A="a", B="")) == [Change(What.PHASE_ADDED, "B")]
    assert changes(phased(A="a", B="b"), phased(A="a")) == [Change(What.PHASE_REMOVED, "B"), Change(What.REMOVED, "b")]


def test_a_phase_that_kept_a_task_was_renamed() -> None:
    """One that kept none is another phase."""
    assert changes(phased(A="ab"), phased(B="bc")) == [
        Change(What.PHASE_RENAMED, "A", "B"),
        Change(What.REMOVED, "a"),
        Change(What.ADDED, "c"),
    ]
    assert changes(phased(A="a"), phased(B="b")) == [
        Change(What.PHASE_REMOVED, "A"),
        Change(What.PHASE_ADDED, "B"),
        Change(What.REMOVED, "a"),
        Change(What.ADDED, "b"),
    ]


def test_a_flat_list_comes_and_goes_without_a_word_about_its_phase() -> None:
    """Its tasks say enough."""
    assert changes(Plan(), plan_of("a")) == [Change(What.ADDED, "a")]
    assert changes(plan_of("a"), Plan()) == [Change(What.REMOVED, "a")]


def test_changes_are_told_in_short_sentences() -> None:
    """Whatever a text holds stays on its line."""
    before = Plan((Phase("A", (Task("a\nb", IN_PROGRESS),)), Phase("", (Task("c"),))))
    after = Plan((Phase("B", (Task("a\nb", COMPLETED, ("n\x1b",)), Task("c"))),))

    assert told(changes(before, after)) == [
        "renamed phase “A” to “B”",
        "moved “c” to “B”",
        "completed “a⏎b”",
        "noted on “a⏎b”: n␛",
    ]
    assert told([Change(What.PHASE_ADDED, ""), Change(What.MOVED, "x")]) == ["added phase (unnamed)", "moved “x”"]


def test_many_changes_of_a_kind_are_counted() -> None:
    """A new plan is not read out, nor is everything that was said about a task."""
    assert told(changes(Plan(), plan_of("a", "b", "c"))) == ["added “a”", "added “b”", "added “c”"]
    assert told(changes(plan_of("x"), plan_of(*"abcd"))) == ["removed “x”", "added 4 tasks"]
    assert told(changes(plan_of("a"), flat(Task("a", notes=tuple("1234"))))) == ["added 4 notes"]


def test_a_long_list_is_compared_quickly() -> None:
    """Time and room grow with the list, not with its square."""
    numbers = [str(number) for number in range(20_000)]

    assert changes(plan_of(*numbers), plan_of(*numbers[1:], "0")) == [Change(What.MOVED, "0")]


def test_a_status_without_a_verb_of_its_own_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A status that is added later is told without a further line here."""
    monkeypatch.setattr("tildone.history.changes._VERBS", {})
    found = changes(plan_of("a", "b"), flat(Task("a", Status.BLOCKED), Task("b", COMPLETED)))

    assert told(found) == ["closed “b” as completed", "marked “a” as blocked"]
    assert [said(change) for change in found] == ["closed as completed", "marked as blocked"]
