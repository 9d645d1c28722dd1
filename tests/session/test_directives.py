"""Directives: whether an agent continues, pauses or stops."""

import pytest

from tests.plans import plan_of, session_on
from tildone.log.session import Session
from tildone.plan.events import Bound, Directive
from tildone.plan.gate import GiveUp, GoOn, Rest, RestReason
from tildone.plan.model import Plan

ADD_TWO = {"mode": "append", "todos": [{"text": "a"}, {"text": "b"}]}


def session_with_two_tasks() -> Session:
    session = session_on()
    session.call("write_todos", ADD_TWO)
    return session


@pytest.mark.parametrize("directive", [Directive.PAUSE, Directive.STOP])
def test_a_paused_agent_is_left_alone_until_the_directive_is_go(directive: Directive) -> None:
    """A change of the plan does not end the pause."""
    session = session_with_two_tasks()

    assert session.set_directive(directive)
    paused = session.turn_ended().decision
    session.call("edit_todos", {"action": "start", "indices": [0]})
    still = session.turn_ended().decision
    assert session.set_directive(Directive.GO)

    assert paused == still == Rest(RestReason.PAUSED)
    assert isinstance(session.turn_ended().decision, GoOn)


def test_setting_the_current_directive_again_changes_nothing() -> None:
    """Nothing is written, and the result is False."""
    session = session_with_two_tasks()
    assert not session.set_directive(Directive.GO)
    session.set_directive(Directive.PAUSE)
    head = session.state.head

    assert not session.set_directive(Directive.PAUSE)

    assert session.state.head == head


def test_go_resets_every_count_after_a_bound_was_reached() -> None:
    """The agent is nudged again."""
    session = session_with_two_tasks()
    for _ in range(21):
        session.turn_ended()
    assert session.turn_ended().decision == GiveUp(Bound.NUDGES, 20)

    assert session.set_directive(Directive.GO)

    assert (session.state.nudges, session.state.drift, session.state.tripped) == (0, 0, None)
    assert isinstance(session.turn_ended().decision, GoOn)


def test_a_nudge_that_was_not_delivered_is_taken_back_once() -> None:
    """It does not count. Any other event stays."""
    session = session_with_two_tasks()
    for _ in range(2):
        session.turn_ended()

    assert [session.retract_nudge(), session.state.nudges] == [True, 1]
    assert [session.retract_nudge(), session.state.nudges] == [True, 0]
    assert not session.retract_nudge()
    assert [task.text for task in session.plan.tasks] == ["a", "b"]


def test_undo_and_redo_keep_a_pause() -> None:
    """A person pauses the agent, undoes its change, and redoes it."""
    session = session_with_two_tasks()
    session.call("edit_todos", {"action": "complete", "indices": [0]})
    done = session.plan
    session.set_directive(Directive.PAUSE)

    undone = session.undo().after
    paused = session.turn_ended().decision
    redone = session.redo().after

    assert undone == plan_of("a", "b")
    assert redone == done
    assert paused == session.turn_ended().decision == Rest(RestReason.PAUSED)


def test_undoing_the_first_event_keeps_the_directive() -> None:
    """Where there is no plan, and where one is found again."""
    session = session_with_two_tasks()
    session.set_directive(Directive.STOP)

    emptied = session.undo().after

    assert emptied == Plan()
    assert session.state.directive is Directive.STOP
    assert session.redo().after == plan_of("a", "b")
    assert session.state.directive is Directive.STOP


def test_checkout_keeps_the_current_directive() -> None:
    """The directive that was in force at that event does not return."""
    session = session_with_two_tasks()
    session.set_directive(Directive.PAUSE)
    paused = session.state.head or ""
    session.set_directive(Directive.GO)

    session.checkout(paused)

    assert session.state.directive is Directive.GO
