"""Waiting for a change by polling."""

from threading import Condition

import pytest

from tildone.stores import polling
from tildone.stores.polling import wait_until

ROUNDING = 1e-6
"""Sums of floating-point numbers differ between versions of Python."""


class Clock(Condition):
    """A clock that only checks and pauses advance, and a condition that nobody notifies: it records the pauses."""

    def __init__(self, check_seconds: float) -> None:
        super().__init__()
        self.now = 0.0
        self.pauses: list[float] = []
        self._check_seconds = check_seconds

    def check(self) -> bool:
        self.now += self._check_seconds
        return False

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.pauses.append(timeout)
        self.now += timeout
        return False


@pytest.mark.parametrize(("check_seconds", "longest"), [(0.0, 0.05), (0.001, 0.05), (0.5, 2.0)])
def test_a_check_that_takes_long_is_made_less_often(
    monkeypatch: pytest.MonkeyPatch, check_seconds: float, longest: float
) -> None:
    """Waiting takes a fifth of a processor at most."""
    clock = Clock(check_seconds)
    monkeypatch.setattr(polling, "monotonic", lambda: clock.now)

    assert not wait_until(clock, clock.check, 10.0)

    assert max(clock.pauses) == pytest.approx(longest)
    assert sum(clock.pauses) == pytest.approx(10.0, abs=check_seconds * (len(clock.pauses) + 1) + ROUNDING)
