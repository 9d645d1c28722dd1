"""The countdown before an agent is told to continue."""

from tildone.plan.gate import Tick, countdown


def test_the_countdown_ticks_every_second_and_fires_once_at_the_end() -> None:
    """Three seconds by default."""
    assert [(tick.at, tick.left) for tick in countdown()] == [(0, 3), (1000, 2), (2000, 1), (3000, 0)]
    assert [tick.fires for tick in countdown()] == [False, False, False, True]


def test_a_countdown_of_no_seconds_fires_at_once() -> None:
    assert countdown(0) == (Tick(0, 0),)
