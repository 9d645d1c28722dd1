"""How long tasks were in progress, and how a stretch of time is said."""

from __future__ import annotations

from tildone.core.plan import Status
from tildone.history.changes import ChangeKind
from tildone.history.matching import task_at, task_locations
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.history.matching import Location, PlanMatch

    StartTimes = dict[Location, int]

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000

ENDING_KINDS = frozenset(
    {
        ChangeKind.COMPLETED,
        ChangeKind.DROPPED,
        ChangeKind.CLOSED,
        ChangeKind.BLOCKED,
        ChangeKind.MARKED,
        ChangeKind.PAUSED,
    }
)
"""What becomes of a task that was in progress and is no more."""


def format_elapsed(milliseconds: int) -> str:
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


def in_progress_since(match: PlanMatch, earlier: StartTimes, at: int) -> StartTimes:
    """Since when tasks of the later plan are in progress, as far as it is known; `earlier` says it of the other."""
    found: StartTimes = {}
    for spot in task_locations(match.after):
        if task_at(match.after, spot).status is Status.IN_PROGRESS:
            was = match.was(spot)
            fresh = was is None or was.status is not Status.IN_PROGRESS
            since = at if fresh else earlier.get(match.origins[spot])
            if since is not None:
                found[spot] = since
    return found


def finished_durations(match: PlanMatch, earlier: StartTimes, at: int) -> StartTimes:
    """How long tasks of the later plan were in progress that no longer are, as far as it is known.

    A clock that was set back meanwhile leaves nothing known.
    """
    return {
        spot: at - earlier[origin]
        for spot, origin in match.origins.items()
        if earlier.get(origin, at + 1) <= at and task_at(match.after, spot).status is not Status.IN_PROGRESS
    }
