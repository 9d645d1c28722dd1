"""Where a session stands after going back, and forth again."""

import pytest

from tests.plans import plan_of
from tildone.errors import Refused
from tildone.log.events import Actor, Event, Labelled, Nudged, PlanChanged
from tildone.log.tree import SessionHead
from tildone.log.undo import head_after_redo, head_after_undo

CHANGED = PlanChanged(plan_of("x"))
NEWEST_FIRST = [
    Event("e", "d", 5, Actor.USER, Labelled("a", "x")),
    Event("d", "c", 4, Actor.TIMER, Nudged(1, 1)),
    Event("c", "b", 3, Actor.AGENT, CHANGED),
    Event("b", "a", 2, Actor.TIMER, Nudged(1, 1)),
    Event("a", None, 1, Actor.AGENT, CHANGED),
]


def test_going_back_stops_before_each_change() -> None:
    """The way forward leads to where one stood each time, what was nudged and named included."""
    assert head_after_undo(SessionHead("e"), NEWEST_FIRST, 1) == SessionHead("b", ("e",))
    assert head_after_undo(SessionHead("e", ("x",)), NEWEST_FIRST, 2) == SessionHead(None, ("b", "e", "x"))


def test_several_steps_are_as_many_single_ones() -> None:
    """Back, and forth again."""
    once = head_after_undo(SessionHead("e"), NEWEST_FIRST, 1)
    twice = head_after_undo(once, NEWEST_FIRST[3:], 1)

    assert head_after_undo(SessionHead("e"), NEWEST_FIRST, 2) == twice
    assert head_after_redo(twice, 1) == once
    assert head_after_redo(twice, 2) == head_after_redo(once, 1) == SessionHead("e")


@pytest.mark.parametrize(
    ("newest_first", "changes", "said"),
    [
        ([], 1, "nothing to undo"),
        (NEWEST_FIRST[-2:], 2, "there is only 1 change to undo"),
        (NEWEST_FIRST, 3, "there are only 2 changes to undo"),
    ],
)
def test_there_may_not_be_so_many_to_undo(newest_first: list[Event], changes: int, said: str) -> None:
    """None is undone then."""
    with pytest.raises(Refused, match=said):
        head_after_undo(SessionHead("e"), newest_first, changes)


@pytest.mark.parametrize(
    ("ahead", "changes", "said"),
    [
        ((), 1, "nothing to redo"),
        (("a",), 2, "there is only 1 change to redo"),
        (("a", "b"), 9, "there are only 2 changes to redo"),
    ],
)
def test_there_may_not_be_so_many_to_redo(ahead: tuple[str, ...], changes: int, said: str) -> None:
    """None is made again then."""
    with pytest.raises(Refused, match=said):
        head_after_redo(SessionHead("e", ahead), changes)
