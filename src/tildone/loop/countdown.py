"""The countdown before an agent is told to continue."""

from __future__ import annotations

from tildone.value import value


@value
class Tick:
    """At `at` milliseconds, `left` seconds are left; when none is left, the agent is told to continue."""

    at: int
    left: int

    @property
    def fires(self) -> bool:
        """Whether this is the tick at which the agent is told."""
        return self.left == 0


def countdown(seconds: int = 3) -> tuple[Tick, ...]:
    """One tick a second. A person sees each and may interrupt; without a screen, only the last matters."""
    return tuple(Tick((seconds - left) * 1000, left) for left in range(seconds, -1, -1))
