"""What a person wants of an agent: that it goes on, pauses or stops."""

import pytest

from tests.plans import session_on
from tildone.core.plan import Plan, Task, flat
from tildone.log.events import Bound, Directive
from tildone.loop.decision import GiveUp, GoOn, Rest, RestReason
from tildone.session import Session

ADD_TWO = {"mode": "append", "todos": [{"text": "a"}, {"text": "b"}]}


def working() -> Session:
    session = session_on()
    session.call("write_todos", ADD_TWO)
    return session


@pytest.mark.parametrize("course", [Directive.PAUSE, Directive.STOP])
def test_a_paused_agent_is_left_alone_until_it_may_go_on(course: Directive) -> None:
    """A change of the plan meanwhile does not end the pause."""
    session = working()

    assert session.set_directive(course)
    paused = session.turn_ended().decision
    session.call("edit_todos", {"action": "start", "indices": [0]})
    still = session.turn_ended().decision
    assert session.set_directive(Directive.GO)

    assert paused == still == Rest(RestReason.PAUSED)
    assert isinstance(session.turn_ended().decision, GoOn)


def test_a_course_that_is_set_already_is_not_set_again() -> None:
    """Nothing is written, and the caller is told."""
    session = working()
    assert not session.set_directive(Directive.GO)
    session.set_directive(Directive.PAUSE)
    head = session.state.head

    assert not session.set_directive(Directive.PAUSE)

    assert session.state.head == head


def test_an_agent_that_was_let_go_may_be_kept_going_again() -> None:
    """Every count begins anew."""
    session = working()
    for _ in range(21):
        session.turn_ended()
    assert session.turn_ended().decision == GiveUp(Bound.NUDGES, 20)

    assert session.set_directive(Directive.GO)

    assert (session.state.nudges, session.state.drift, session.state.tripped) == (0, 0, False)
    assert isinstance(session.turn_ended().decision, GoOn)


def test_a_pause_does_not_go_back_with_the_plan() -> None:
    """A person pauses the agent, undoes what it did, and redoes it: the agent stays where it is."""
    session = working()
    session.call("edit_todos", {"action": "complete", "indices": [0]})
    done = session.plan
    session.set_directive(Directive.PAUSE)

    undone = session.undo().after
    paused = session.turn_ended().decision
    redone = session.redo().after

    assert undone == flat(Task("a"), Task("b"))
    assert redone == done
    assert paused == session.turn_ended().decision == Rest(RestReason.PAUSED)


def test_a_pause_holds_before_the_first_event_too() -> None:
    """Where there is no plan, and where one is found again."""
    session = working()
    session.set_directive(Directive.STOP)

    emptied = session.undo().after

    assert emptied == Plan()
    assert session.state.directive is Directive.STOP
    assert session.redo().after == flat(Task("a"), Task("b"))
    assert session.state.directive is Directive.STOP


def test_a_pause_was_not_there_when_it_was_not() -> None:
    """Going to a place from before brings the course of now, not the one of then."""
    session = working()
    session.set_directive(Directive.PAUSE)
    paused = session.state.head or ""
    session.set_directive(Directive.GO)

    session.checkout(paused)

    assert session.state.directive is Directive.GO
