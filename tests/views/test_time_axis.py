"""The time axis of pictures."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.plan.text.charts import MAX_TICKS, MIN_BREAK_MS, time_axis

MINUTE = 60_000


def test_places_are_linear_in_time() -> None:
    axis = time_axis([0, 5 * MINUTE, 10 * MINUTE], 100, 24)

    assert [axis.place(at) for at in (0, MINUTE, 5 * MINUTE, 10 * MINUTE)] == [0, 10, 50, 100]
    assert axis.breaks == ()


def test_times_outside_are_at_the_edges() -> None:
    axis = time_axis([MINUTE, 2 * MINUTE], 100, 24)

    assert (axis.place(0), axis.place(9 * MINUTE)) == (0, 100)


def test_a_time_without_events_of_more_than_ten_minutes_is_a_short_break() -> None:
    night = 8 * 60 * MINUTE
    axis = time_axis([0, 5 * MINUTE, 5 * MINUTE + night, 10 * MINUTE + night], 124, 24)

    [quiet] = axis.breaks
    assert (quiet.left, quiet.right, quiet.end - quiet.start) == (50, 74, night)
    assert axis.place(5 * MINUTE + night // 2) == 62
    assert axis.place(10 * MINUTE + night) == 124


def test_ten_minutes_are_no_break() -> None:
    assert time_axis([0, MIN_BREAK_MS], 100, 24).breaks == ()
    assert len(time_axis([0, MIN_BREAK_MS + 1], 100, 24).breaks) == 1


def test_many_breaks_leave_half_of_the_axis_to_the_work() -> None:
    times = [at for hour in range(100) for at in (hour * 60 * MINUTE, hour * 60 * MINUTE + MINUTE)]
    axis = time_axis(times, 100, 24)

    assert sum(part.right - part.left for part in axis.breaks) == pytest.approx(50)


def test_breaks_take_the_whole_axis_if_there_is_nothing_else() -> None:
    assert time_axis([0, 60 * MINUTE, 120 * MINUTE], 100, 24).place(60 * MINUTE) == 50


def test_a_single_moment_is_at_the_left() -> None:
    assert time_axis([7], 100, 24).place(7) == 0


@pytest.mark.parametrize(
    ("minutes", "ticks"),
    [
        ([3, 7], [3, 4, 5, 6, 7]),
        ([0, 8], [0, 2, 4, 6, 8]),
        ([0.5, 9.5], [2, 4, 6, 8]),
        ([1, 9, 301, 309], [2, 4, 6, 8, 302, 304, 306, 308]),
        ([0.1, 0.2], []),
    ],
)
def test_ticks_are_at_round_times_outside_of_breaks(minutes: list[float], ticks: list[int]) -> None:
    axis = time_axis([int(each * MINUTE) for each in minutes], 500, 24)

    assert axis.ticks() == [each * MINUTE for each in ticks]


def test_a_time_too_long_for_any_step_has_no_ticks() -> None:
    """Nine busy days without a break."""
    assert time_axis(list(range(0, 10 * 1440 * MINUTE, 10 * MINUTE)), 500, 24).ticks() == []


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=40).map(sorted), st.sampled_from([1, 40, 480]))
def test_places_keep_the_order_of_times_and_stay_on_the_axis(times: list[int], width: int) -> None:
    axis = time_axis(times, width, 24)
    places = [axis.place(at) for at in times]

    assert all(one <= other + 1e-6 for one, other in pairwise(places))
    assert all(-1e-6 <= place <= width + 1e-6 for place in places)
    assert len(axis.ticks()) <= MAX_TICKS
    assert all(one.right == other.left for one, other in pairwise(axis.parts))
