"""Whether an agent goes on."""

import pytest

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, plan_of
from tildone.core.plan import Plan, Task, flat
from tildone.log.events import Bound
from tildone.log.state import State
from tildone.loop.machine import GiveUp, GoOn, Manner, Patience, Rest, Why, decide, progressed

OPEN = flat(Task("a", COMPLETED), Task("b"), Task("c", IN_PROGRESS))
DONE = flat(Task("a", COMPLETED))
PATIENCE = Patience()
RECORDED = Patience(manner=Manner.RECORDED)


def test_without_a_plan_the_agent_rests() -> None:
    """There is nothing to hold it to."""
    assert decide(State(), PATIENCE, aborted=True, errored=True) == Rest(Why.NO_PLAN)


def test_an_interrupted_agent_is_left_alone() -> None:
    """Even at its limit, and even with everything done."""
    for plan in (OPEN, DONE):
        assert decide(State("e", plan, nudges=99), PATIENCE, aborted=True, errored=False) == Rest(Why.ABORTED)


def test_a_finished_plan_never_reports_a_bound() -> None:
    """What is left is asked before how often."""
    assert decide(State("e", DONE, 99, 99), PATIENCE, aborted=False, errored=True) == Rest(Why.ALL_DONE)


def test_an_agent_that_ended_with_an_error_is_not_continued_unless_asked_for() -> None:
    """The next turn would most likely meet the same error."""
    state = State("e", OPEN)

    assert decide(state, PATIENCE, aborted=False, errored=True) == Rest(Why.ERRORED)
    assert isinstance(decide(state, RECORDED, aborted=False, errored=True), GoOn)


def test_the_twentieth_nudge_is_the_last() -> None:
    """The breaker of the original."""
    before, at = State("e", OPEN, nudges=19), State("e", OPEN, nudges=20)

    assert decide(before, PATIENCE, aborted=False, errored=False) == GoOn(2, Task("c", IN_PROGRESS))
    assert decide(at, PATIENCE, aborted=False, errored=False) == GiveUp(Bound.NUDGES, 20)


def test_drift_ends_a_chain_that_changes_without_progress() -> None:
    """The plan changed at every turn, and nothing was ever closed or added."""
    state = State("e", OPEN, nudges=0, drift=60)

    assert decide(state, PATIENCE, aborted=False, errored=False) == GiveUp(Bound.DRIFT, 60)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (flat(Task("a", COMPLETED), Task("b")), True),
        (flat(Task("a", ABANDONED), Task("b")), True),
        (plan_of("a", "b", "c"), True),
        (plan_of("a", "other"), True),
        (flat(Task("a", IN_PROGRESS), Task("b")), False),
        (plan_of("b", "a"), False),
        (plan_of("a"), False),
        (Plan(), False),
    ],
)
def test_progress_is_a_task_closed_or_added(after: Plan, *, expected: bool) -> None:
    """Shuffling, starting and removing are not."""
    assert progressed(plan_of("a", "b"), after) is expected


def test_the_order_of_the_original_can_be_asked_for() -> None:
    """The limit first, and whether anything is left second."""
    assert decide(State("e", DONE, 20), RECORDED, aborted=False, errored=False) == GiveUp(Bound.NUDGES, 20)
    assert decide(State("e", DONE, 19), RECORDED, aborted=False, errored=False) == Rest(Why.ALL_DONE)
