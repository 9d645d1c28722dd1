"""The seconds before an agent is told to go on, as a table."""

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


COUNTDOWN = (Tick(0, 3), Tick(1000, 2), Tick(2000, 1), Tick(3000, 0))
"""Somebody watches: every tick is shown, and anything typed before the last one interrupts."""

SILENT = COUNTDOWN[-1:]
"""Nobody watches: only the last tick counts."""
