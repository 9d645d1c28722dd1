"""A session that is not alone: what it thought of may be out of date, and it never answers from that."""

from tests.plans import COMPLETED, plan_of, session_on
from tildone.core.ops import Append, At, Mark
from tildone.core.plan import Task
from tildone.stores.memory import MemoryStore


def test_a_change_is_thought_of_again_when_somebody_was_faster() -> None:
    """Both changes are kept."""
    store = MemoryStore()
    mine, theirs = session_on(store, prefix="mine"), session_on(store, prefix="theirs")
    mine.change([Append((Task("one"),))])

    theirs.change([Append((Task("two"),))])
    outcome = mine.change([Append((Task("three"),))])

    assert outcome.before == plan_of("one", "two")
    assert mine.plan == theirs.plan == plan_of("one", "two", "three")


def test_nothing_is_refused_for_what_is_no_longer_so() -> None:
    """The position was out of range when this session last looked."""
    store = MemoryStore()
    mine, theirs = session_on(store, prefix="mine"), session_on(store, prefix="theirs")
    mine.change([Append((Task("one"),))])

    theirs.change([Append((Task("two"),))])
    outcome = mine.change([Mark(At((1,)), COMPLETED)])

    assert outcome.faults == ()
    assert outcome.after.tasks[1] == Task("two", COMPLETED)


def test_what_is_already_so_is_judged_by_how_it_is_now() -> None:
    """A change that would have been none when this session last looked is one by now."""
    store = MemoryStore()
    mine, theirs = session_on(store, prefix="mine"), session_on(store, prefix="theirs")
    mine.change([Append((Task("one"),))])
    mine.change([Mark(At((0,)), COMPLETED)])

    theirs.undo()
    outcome = mine.change([Mark(At((0,)), COMPLETED)])

    assert outcome.changed
    assert theirs.plan.tasks == (Task("one", COMPLETED),)
