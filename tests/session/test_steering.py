"""What a person wants of an agent: that it goes on, pauses or stops."""

import pytest

from tests.plans import session_on
from tildone.core.plan import Plan, Task, flat
from tildone.log.events import Bound, Course
from tildone.loop.decision import GiveUp, GoOn, Rest, Why
from tildone.session import Session

ADD_TWO = {"mode": "append", "todos": [{"text": "a"}, {"text": "b"}]}


def working() -> Session:
    session = session_on()
    session.call("write_todos", ADD_TWO)
    return session


@pytest.mark.parametrize("course", [Course.PAUSE, Course.STOP])
def test_a_paused_agent_is_left_alone_until_it_may_go_on(course: Course) -> None:
    """A change of the plan meanwhile does not end the pause."""
    session = working()

    assert session.steer(course)
    paused = session.turn_ended().decision
    session.call("edit_todos", {"action": "start", "indices": [0]})
    still = session.turn_ended().decision
    assert session.steer(Course.GO)

    assert paused == still == Rest(Why.PAUSED)
    assert isinstance(session.turn_ended().decision, GoOn)


def test_a_course_that_is_set_already_is_not_set_again() -> None:
    """Nothing is written, and the caller is told."""
    session = working()
    assert not session.steer(Course.GO)
    session.steer(Course.PAUSE)
    head = session.state.head

    assert not session.steer(Course.PAUSE)

    assert session.state.head == head


def test_an_agent_that_was_let_go_may_be_kept_going_again() -> None:
    """Every count begins anew."""
    session = working()
    for _ in range(21):
        session.turn_ended()
    assert session.turn_ended().decision == GiveUp(Bound.NUDGES, 20)

    assert session.steer(Course.GO)

    assert (session.state.nudges, session.state.drift, session.state.tripped) == (0, 0, False)
    assert isinstance(session.turn_ended().decision, GoOn)


def test_a_pause_does_not_go_back_with_the_plan() -> None:
    """A person pauses the agent, undoes what it did, and redoes it: the agent stays where it is."""
    session = working()
    session.call("edit_todos", {"action": "complete", "indices": [0]})
    done = session.plan
    session.steer(Course.PAUSE)

    undone = session.undo().after
    paused = session.turn_ended().decision
    redone = session.redo().after

    assert undone == flat(Task("a"), Task("b"))
    assert redone == done
    assert paused == session.turn_ended().decision == Rest(Why.PAUSED)


def test_a_pause_holds_before_the_first_event_too() -> None:
    """Where there is no plan, and where one is found again."""
    session = working()
    session.steer(Course.STOP)

    emptied = session.undo().after

    assert emptied == Plan()
    assert session.state.course is Course.STOP
    assert session.redo().after == flat(Task("a"), Task("b"))
    assert session.state.course is Course.STOP


def test_a_pause_was_not_there_when_it_was_not() -> None:
    """Going to a place from before brings the course of now, not the one of then."""
    session = working()
    session.steer(Course.PAUSE)
    paused = session.state.head or ""
    session.steer(Course.GO)

    session.checkout(paused)

    assert session.state.course is Course.GO
