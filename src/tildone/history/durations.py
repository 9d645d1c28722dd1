"""How long tasks were in progress, and the format of elapsed times."""

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
"""The kinds of change that end a task's time in progress."""


def format_elapsed(milliseconds: int) -> str:
    """An elapsed time in at most two units: `<1s`, `42s`, `12m`, `2h 5m`, `3d 4h`."""
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
    """When the tasks in progress were started, as far as known; `earlier` holds the same for the earlier plan."""
    found: StartTimes = {}
    for location in task_locations(match.after):
        if task_at(match.after, location).status is Status.IN_PROGRESS:
            was = match.was(location)
            fresh = was is None or was.status is not Status.IN_PROGRESS
            since = at if fresh else earlier.get(match.origins[location])
            if since is not None:
                found[location] = since
    return found


def finished_durations(match: PlanMatch, earlier: StartTimes, at: int) -> StartTimes:
    """How long tasks were in progress that no longer are, as far as known, by location in the later plan.

    If the clock was set back meanwhile, the duration is unknown.
    """
    return {
        location: at - earlier[origin]
        for location, origin in match.origins.items()
        if earlier.get(origin, at + 1) <= at and task_at(match.after, location).status is not Status.IN_PROGRESS
    }
