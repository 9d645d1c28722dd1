"""How long tasks were in progress."""

import pytest

from tests.plans import COMPLETED, IN_PROGRESS, PENDING
from tildone.plan.history.changes import match_plans
from tildone.plan.model import Phase, Plan, Status, Task, flat
from tildone.plan.text.amounts import finished_durations, in_progress_since


def test_a_task_is_in_progress_since_it_was_started() -> None:
    """Moves do not matter; a task added in progress was started then."""
    before = Plan((Phase("A", (Task("a", IN_PROGRESS), Task("b"))), Phase("B")))
    after = Plan((Phase("A", (Task("b", IN_PROGRESS),)), Phase("B", (Task("c", IN_PROGRESS), Task("a", IN_PROGRESS)))))

    assert in_progress_since(match_plans(before, after), {(0, 0): 5}, 9) == {(0, 0): 9, (1, 0): 9, (1, 1): 5}


def test_a_start_before_the_first_event_is_unknown() -> None:
    """Until the task is started again."""
    begun = flat(Task("a", IN_PROGRESS))

    assert in_progress_since(match_plans(begun, begun), {}, 9) == {}
    assert finished_durations(match_plans(begun, flat(Task("a"))), {}, 9) == {}


@pytest.mark.parametrize("status", [PENDING, COMPLETED, Status.ABANDONED, Status.BLOCKED])
def test_a_duration_ends_with_any_other_status(status: Status) -> None:
    """If the clock was set back, the duration is unknown."""
    match = match_plans(flat(Task("a", IN_PROGRESS)), flat(Task("a", status)))

    assert finished_durations(match, {(0, 0): 5}, 9) == {(0, 0): 4}
    assert finished_durations(match, {(0, 0): 5}, 5) == {(0, 0): 0}
    assert finished_durations(match, {(0, 0): 5}, 4) == {}
    assert in_progress_since(match, {(0, 0): 5}, 9) == {}


def test_a_task_still_in_progress_has_no_finished_duration() -> None:
    """Nor does a removed one."""
    begun = flat(Task("a", IN_PROGRESS))

    assert finished_durations(match_plans(begun, begun), {(0, 0): 5}, 9) == {}
    assert finished_durations(match_plans(begun, Plan()), {(0, 0): 5}, 9) == {}
