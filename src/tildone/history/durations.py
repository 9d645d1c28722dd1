"""How long tasks were in progress, and how a stretch of time is said."""

from __future__ import annotations

from tildone.core.plan import Status
from tildone.history.changes import What
from tildone.history.matching import spots, task_at
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.history.matching import Match, Spot

    Running = dict[Spot, int]

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000

ENDS = frozenset({What.COMPLETED, What.DROPPED, What.CLOSED, What.BLOCKED, What.MARKED, What.PAUSED})
"""What becomes of a task that was in progress and is no more."""


def spent(milliseconds: int) -> str:
    """A stretch of time as exact as matters for a task: `<1s`, `42s`, `12m`, `2h 5m`, `3d 4h`."""
    if milliseconds < SECOND:
        return "<1s"
    if milliseconds < MINUTE:
        return f"{milliseconds // SECOND}s"
    if milliseconds < HOUR:
        return f"{milliseconds // MINUTE}m"
    large, small, units = (HOUR, MINUTE, "hm") if milliseconds < DAY else (DAY, HOUR, "dh")
    whole, rest = divmod(milliseconds, large)
    return f"{whole}{units[0]} {rest // small}{units[1]}" if rest >= small else f"{whole}{units[0]}"


def running(match: Match, earlier: Running, at: int) -> Running:
    """Since when tasks of the later plan are in progress, as far as it is known; `earlier` says it of the other."""
    found: Running = {}
    for spot in spots(match.after):
        if task_at(match.after, spot).status is Status.IN_PROGRESS:
            was = match.was(spot)
            fresh = was is None or was.status is not Status.IN_PROGRESS
            since = at if fresh else earlier.get(match.origins[spot])
            if since is not None:
                found[spot] = since
    return found


def ended(match: Match, earlier: Running, at: int) -> Running:
    """How long tasks of the later plan were in progress that no longer are, as far as it is known.

    A clock that was set back meanwhile leaves nothing known.
    """
    return {
        spot: at - earlier[origin]
        for spot, origin in match.origins.items()
        if earlier.get(origin, at + 1) <= at and task_at(match.after, spot).status is not Status.IN_PROGRESS
    }
