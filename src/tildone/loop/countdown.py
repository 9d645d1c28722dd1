"""The countdown before an agent is told to continue."""

from __future__ import annotations

from tildone.value import value


@value
class Tick:
    """A tick at `at` milliseconds with `left` seconds left. At 0, the agent is told to continue."""

    at: int
    left: int

    @property
    def fires(self) -> bool:
        """Whether the agent is told to continue at this tick."""
        return self.left == 0


def countdown(seconds: int = 3) -> tuple[Tick, ...]:
    """Return one tick per second, for a person to watch and interrupt; without a screen, only the last one matters."""
    return tuple(Tick((seconds - left) * 1000, left) for left in range(seconds, -1, -1))
