"""How fast tasks are closed, and when the open ones will be at that pace."""

from __future__ import annotations

from collections import deque

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from tildone.core.query import PlanProgress

CLOSURES = 5
"""How many of the newest closures tell the pace."""

NUDGES = 3
"""How many of the newest nudges must have led to progress."""


@value
class Estimate:
    """How long the open tasks will take, in milliseconds; None if there is no estimate, and `reason` says why."""

    remaining: int | None
    reason: str = ""


class Pace:
    """The newest closures, and whether nudges led to progress.

    Times are in milliseconds of a clock that never goes back and stands still while nobody works.
    """

    def __init__(self) -> None:
        self._start: int | None = None
        self._closures: deque[int] = deque(maxlen=CLOSURES + 1)
        self._helped: deque[bool | None] = deque(maxlen=NUDGES)
        self._in_vain = 0

    def began(self, at: int) -> None:
        """Note the time of a change of the plan; the first one starts the clock."""
        self._start = at if self._start is None else self._start

    def closed(self, at: int) -> None:
        self._closures.append(at)

    def changed(self, *, is_progress: bool) -> None:
        """Count a change of the plan; one that is progress means that the nudge before it helped."""
        if is_progress:
            self._in_vain = 0
            if self._helped:
                self._helped[-1] = True

    def nudged(self) -> None:
        """Count a nudge."""
        self._end_nudge()
        self._helped.append(None)
        self._in_vain += 1

    def let_go(self) -> None:
        """Count that the agent was let go: the nudge before it did not help."""
        self._end_nudge()

    def estimate(self, counts: PlanProgress) -> Estimate:
        left = counts.total - counts.closed
        if not left:
            return Estimate(None, "all tasks are closed" if counts.total else "the plan is empty")
        if len(self._closures) < CLOSURES:
            return Estimate(None, f"no estimate: fewer than {CLOSURES} tasks were closed")
        if False in self._helped:
            return Estimate(None, f"no estimate: {self._fruitless()}")
        since = self._closures[0] if len(self._closures) > CLOSURES else self._start or 0
        if self._closures[-1] == since:
            return Estimate(None, f"no estimate: the last {CLOSURES} tasks were closed at once")
        return Estimate(left * (self._closures[-1] - since) // CLOSURES)

    def _end_nudge(self) -> None:
        if self._helped and self._helped[-1] is None:
            self._helped[-1] = False

    def _fruitless(self) -> str:
        if self._in_vain:
            return f"told to go on {'once' if self._in_vain == 1 else f'{self._in_vain} times'} without progress"
        return f"{list(self._helped).count(False)} of the last {NUDGES} times told to go on, no progress"
