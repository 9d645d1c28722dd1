"""The head after undo and redo."""

import pytest

from tests.plans import plan_of
from tildone.base.errors import Refused
from tildone.plan.events import (
    Actor,
    Event,
    Labelled,
    Nudged,
    PlanChanged,
    SessionHead,
    head_after_redo,
    head_after_undo,
)

CHANGED = PlanChanged(plan_of("x"))
NEWEST_FIRST = [
    Event("e", "d", 5, Actor.USER, Labelled("a", "x")),
    Event("d", "c", 4, Actor.TIMER, Nudged(1, 1)),
    Event("c", "b", 3, Actor.AGENT, CHANGED),
    Event("b", "a", 2, Actor.TIMER, Nudged(1, 1)),
    Event("a", None, 1, Actor.AGENT, CHANGED),
]


def test_undo_moves_the_head_before_each_change() -> None:
    """The redo stack has the former heads, so that later nudges and labels are restored, too."""
    assert head_after_undo(SessionHead("e"), NEWEST_FIRST, 1) == SessionHead("b", ("e",))
    assert head_after_undo(SessionHead("e", ("x",)), NEWEST_FIRST, 2) == SessionHead(None, ("b", "e", "x"))


def test_undoing_several_changes_equals_undoing_them_one_by_one() -> None:
    """The same holds for redo."""
    once = head_after_undo(SessionHead("e"), NEWEST_FIRST, 1)
    twice = head_after_undo(once, NEWEST_FIRST[3:], 1)

    assert head_after_undo(SessionHead("e"), NEWEST_FIRST, 2) == twice
    assert head_after_redo(twice, 1) == once
    assert head_after_redo(twice, 2) == head_after_redo(once, 1) == SessionHead("e")


@pytest.mark.parametrize(
    ("newest_first", "changes", "message"),
    [
        ([], 1, "nothing to undo"),
        (NEWEST_FIRST[-2:], 2, "there is only 1 change to undo"),
        (NEWEST_FIRST, 3, "there are only 2 changes to undo"),
    ],
)
def test_undoing_more_changes_than_there_are_is_refused(newest_first: list[Event], changes: int, message: str) -> None:
    with pytest.raises(Refused, match=message):
        head_after_undo(SessionHead("e"), newest_first, changes)


@pytest.mark.parametrize(
    ("ahead", "changes", "message"),
    [
        ((), 1, "nothing to redo"),
        (("a",), 2, "there is only 1 change to redo"),
        (("a", "b"), 9, "there are only 2 changes to redo"),
    ],
)
def test_redoing_more_changes_than_were_undone_is_refused(ahead: tuple[str, ...], changes: int, message: str) -> None:
    with pytest.raises(Refused, match=message):
        head_after_redo(SessionHead("e", ahead), changes)
