"""The countdown, as a table."""

from tildone.loop.countdown import COUNTDOWN, SILENT, Tick


def test_the_countdown_ticks_every_second_and_fires_once_at_the_end() -> None:
    """Three seconds, shown from 3 to 1."""
    assert [(tick.at, tick.left) for tick in COUNTDOWN] == [(0, 3), (1000, 2), (2000, 1), (3000, 0)]
    assert [tick.fires for tick in COUNTDOWN] == [False, False, False, True]


def test_nobody_watching_means_one_wait_of_the_same_length() -> None:
    """The agent goes on at the same moment either way."""
    assert (Tick(3000, 0),) == SILENT
