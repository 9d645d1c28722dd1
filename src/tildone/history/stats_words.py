"""The words that the pictures of a plan's history share, and the choice of the tasks that they show."""

from __future__ import annotations

from tildone.core.plan import Status
from tildone.history.stats import MarkKind
from tildone.typing import TYPE_CHECKING
from tildone.views.amounts import dollars, elapsed, token_count

if TYPE_CHECKING:
    from tildone.history.stats import Stats, TaskStats

LEGEND = {
    MarkKind.CHANGE: "changes by agents",
    MarkKind.NUDGE: "told to go on",
    MarkKind.PERSON: "changes by people",
    MarkKind.LABEL: "labels",
    MarkKind.LET_GO: "let go",
}
"""What the signs mean, in the order of the legend."""

SMALLEST_COST = 0.0001
"""In dollars; less is not shown."""

USAGE_UNKNOWN = "Tokens and cost are not known: no agent of this plan has told them."


def heading(title: str, stats: Stats) -> str:
    """Return what is shown, and how far it is."""
    counts = stats.progress
    return f"{title}: {counts.closed} of {counts.total} task{'s' if counts.total != 1 else ''} closed"


def estimate_sentence(stats: Stats) -> str:
    """Return the estimate, or why there is none."""
    remaining = stats.estimate.remaining
    if remaining is None:
        reason = stats.estimate.reason
        return f"{reason[0].upper()}{reason[1:]}."
    return f"About {elapsed(remaining)} left, at the pace of the last 5 tasks that were closed."


def usage_sentence(stats: Stats) -> str:
    """Return the tokens and the cost in all, and how much of that belongs to no task; or that this is not known."""
    if stats.tokens is None and stats.cost is None:
        return USAGE_UNKNOWN
    amounts = [] if stats.tokens is None else [f"{token_count(stats.tokens)} tokens"]
    amounts += [] if stats.cost is None else [dollars(stats.cost)]
    return f"{' and '.join(amounts)} in the conversations of its agents{_of_no_task(stats)}."


def _of_no_task(stats: Stats) -> str:
    if stats.tokens is not None:
        tokens = stats.tokens - sum(entry.tokens or 0 for entry in stats.tasks)
        elsewhere = f"{token_count(tokens)} of them" if tokens else ""
    else:
        cost = (stats.cost or 0) - sum(entry.cost or 0 for entry in stats.tasks)
        elsewhere = f"{dollars(cost)} of it" if cost >= SMALLEST_COST else ""
    return f", {elsewhere} while no single task was in progress" if elsewhere else ""


def shown_tasks(stats: Stats, limit: int) -> tuple[list[TaskStats], int]:
    """Return the tasks that were started or blocked, and the number of the others.

    If there are more than `limit`, those that took longest are returned. The order stays.
    """
    worked = [index for index, entry in enumerate(stats.tasks) if entry.periods]
    longest = sorted(worked, key=lambda index: -stats.tasks[index].total(Status.IN_PROGRESS))[:limit]
    return [stats.tasks[index] for index in sorted(longest)], len(stats.tasks) - len(longest)


def left_out_sentence(stats: Stats, left_out: int) -> str:
    """Return how many tasks a picture does not have."""
    never = sum(not entry.periods for entry in stats.tasks)
    if left_out == never:
        return f"{left_out} task{'s were' if left_out > 1 else ' was'} never started."
    return f"{left_out} more tasks are not shown; {never} of them were never started."
