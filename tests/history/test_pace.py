"""The pace of closures, and the estimate that follows from it."""

import pytest

from tildone.plan.history.stats import Pace
from tildone.plan.model import PlanProgress

HALF = PlanProgress(5, 8)


def pace_of(*closures: int, start: int = 0) -> Pace:
    pace = Pace()
    pace.began(start)
    for at in closures:
        pace.began(at)
        pace.closed(at)
    return pace


def test_the_estimate_is_the_open_tasks_at_the_pace_of_the_last_five_closures() -> None:
    assert pace_of(10, 20, 30, 40, 50).estimate(HALF).remaining == 30
    assert pace_of(10, 20, 30, 40, 50).estimate(HALF).reason == ""


def test_earlier_closures_do_not_count() -> None:
    """The time since the closure before them does."""
    assert pace_of(7, 1000, 1010, 1020, 1030, 1040, 1050).estimate(HALF).remaining == 30


@pytest.mark.parametrize(
    ("closures", "counts", "reason"),
    [
        ((1, 2, 3, 4), HALF, "no estimate: fewer than 5 tasks were closed"),
        ((1, 2, 3, 4, 5), PlanProgress(8, 8), "all tasks are closed"),
        ((1, 2, 3, 4, 5), PlanProgress(0, 0), "the plan is empty"),
        ((0, 0, 0, 0, 0), HALF, "no estimate: the last 5 tasks were closed at once"),
    ],
)
def test_without_an_estimate_there_is_a_reason(closures: tuple[int, ...], counts: PlanProgress, reason: str) -> None:
    estimate = pace_of(*closures).estimate(counts)

    assert (estimate.remaining, estimate.reason) == (None, reason)


def test_there_is_no_estimate_while_nudges_lead_to_nothing() -> None:
    pace = pace_of(1, 2, 3, 4, 5)
    for _ in range(7):
        pace.nudged()
    pace.changed(is_progress=False)

    assert pace.estimate(HALF).reason == "no estimate: told to go on 7 times without progress"


def test_a_nudge_before_being_let_go_led_to_nothing() -> None:
    pace = pace_of(1, 2, 3, 4, 5)
    pace.nudged()
    pace.let_go()

    assert pace.estimate(HALF).reason == "no estimate: told to go on once without progress"


def test_each_of_the_last_three_nudges_must_have_led_to_progress() -> None:
    pace = pace_of(1, 2, 3, 4, 5)
    pace.nudged()
    pace.nudged()
    pace.changed(is_progress=True)
    assert pace.estimate(HALF).reason == "no estimate: 1 of the last 3 times told to go on, no progress"
    for _ in range(2):
        pace.nudged()
        pace.changed(is_progress=True)

    assert pace.estimate(HALF).remaining == 3


def test_the_newest_nudge_may_still_lead_to_progress() -> None:
    pace = pace_of(1, 2, 3, 4, 5)
    pace.changed(is_progress=True)
    pace.let_go()
    pace.nudged()

    assert pace.estimate(HALF).remaining == 3
