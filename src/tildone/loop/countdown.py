"""The seconds before an agent is told to go on, as a table."""

from __future__ import annotations

from tildone.value import value


@value
class Tick:
    """At `at` milliseconds, show how many seconds are left; when none is left, the agent goes on."""

    at: int
    left: int

    @property
    def fires(self) -> bool:
        """Whether this is the tick at which the agent is told."""
        return self.left == 0


def countdown(seconds: int = 3) -> tuple[Tick, ...]:
    """Every second of it. Somebody who watches sees each tick, and may interrupt; without them, the last counts."""
    return tuple(Tick((seconds - left) * 1000, left) for left in range(seconds, -1, -1))
