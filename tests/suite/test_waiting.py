"""A wait is bounded by its pauses."""

import time

import pytest

from tests.suite.waiting import pauses, until, until_async


async def test_what_is_found_is_returned() -> None:
    """In an event loop, too."""
    looks = iter(["", "", "found", None, "found again"])

    assert until(lambda: next(looks)) == "found"
    assert await until_async(lambda: next(looks)) == "found again"


def test_what_never_happens_fails_with_what_is_told() -> None:
    with pytest.raises(AssertionError, match="it did not happen: the screen"):
        until(lambda: False, lambda: "the screen", seconds=0.1)


def test_the_time_between_pauses_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine may stand still."""
    monkeypatch.setattr(time, "monotonic", iter(range(0, 10**9, 1000)).__next__)

    assert sum(pauses(1)) == pytest.approx(1, abs=0.06)
