"""How long tasks were in progress."""

from __future__ import annotations

from tildone.core.plan import Status
from tildone.history.changes import ChangeKind
from tildone.history.matching import task_at, task_locations
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.history.matching import Location, PlanMatch

    StartTimes = dict[Location, int]

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


def in_progress_since(match: PlanMatch, earlier: StartTimes, at: int) -> StartTimes:
    """Return the known start times of the tasks in progress; `earlier` are those of the earlier plan."""
    found: StartTimes = {}
    for location in task_locations(match.after):
        if task_at(match.after, location).status is Status.IN_PROGRESS:
            earlier_task = match.earlier(location)
            started = earlier_task is None or earlier_task.status is not Status.IN_PROGRESS
            since = at if started else earlier.get(match.origins[location])
            if since is not None:
                found[location] = since
    return found


def finished_durations(match: PlanMatch, earlier: StartTimes, at: int) -> StartTimes:
    """Return the time in progress of each task that no longer is, by location in the later plan.

    Tasks whose start time is unknown, or later than `at` because the clock was set back, are missing.
    """
    return {
        location: at - earlier[origin]
        for location, origin in match.origins.items()
        if earlier.get(origin, at + 1) <= at and task_at(match.after, location).status is not Status.IN_PROGRESS
    }
