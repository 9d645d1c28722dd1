"""Concurrent sessions: decisions are never based on a stale state."""

from tests.plans import COMPLETED, plan_of, session_on
from tildone.plan.model import Task
from tildone.plan.ops import Append, At, Mark
from tildone.stores.memory import MemoryStore


def test_a_change_is_applied_again_if_another_writer_was_faster() -> None:
    """Both changes are applied."""
    store = MemoryStore()
    mine, theirs = session_on(store, prefix="mine"), session_on(store, prefix="theirs")
    mine.change([Append((Task("one"),))])

    theirs.change([Append((Task("two"),))])
    outcome = mine.change([Append((Task("three"),))])

    assert outcome.before == plan_of("one", "two")
    assert mine.plan == theirs.plan == plan_of("one", "two", "three")


def test_a_stale_state_causes_no_fault() -> None:
    """The position was out of range in the state that this session read last."""
    store = MemoryStore()
    mine, theirs = session_on(store, prefix="mine"), session_on(store, prefix="theirs")
    mine.change([Append((Task("one"),))])

    theirs.change([Append((Task("two"),))])
    outcome = mine.change([Mark(At((1,)), COMPLETED)])

    assert outcome.faults == ()
    assert outcome.after.tasks[1] == Task("two", COMPLETED, number=2)


def test_whether_a_change_changes_anything_is_decided_on_the_current_state() -> None:
    """It would have changed nothing in the state that this session read last."""
    store = MemoryStore()
    mine, theirs = session_on(store, prefix="mine"), session_on(store, prefix="theirs")
    mine.change([Append((Task("one"),))])
    mine.change([Mark(At((0,)), COMPLETED)])

    theirs.undo()
    outcome = mine.change([Mark(At((0,)), COMPLETED)])

    assert outcome.changed
    assert theirs.plan.tasks == (Task("one", COMPLETED, number=1),)
