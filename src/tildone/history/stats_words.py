"""The words that the pictures of a plan's history share, and the choice of the tasks that they show."""

from __future__ import annotations

from tildone.core.plan import Status
from tildone.history.durations import DAY, HOUR, MINUTE, SECOND, format_elapsed
from tildone.history.stats import MarkKind
from tildone.typing import TYPE_CHECKING

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

TOKENS_UNKNOWN = "Tokens are not known: only the conversations of tildone run tell them."
_UNITS = ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s"))
_THOUSAND, _MILLION = 1_000, 1_000_000


def about(milliseconds: int) -> str:
    """Return a time in its largest unit: `40 s`, `12 min`, `6 h`, `3 d`."""
    size, unit = next((each for each in _UNITS if milliseconds >= each[0]), _UNITS[-1])
    return f"{round(milliseconds / size)} {unit}"


def token_count(tokens: int) -> str:
    """Return a number of tokens: `950`, `184k`, `1.2M`."""
    if tokens < _THOUSAND:
        return str(tokens)
    return f"{tokens // _THOUSAND}k" if tokens < _MILLION else f"{tokens / _MILLION:.1f}M"


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
    return f"About {format_elapsed(remaining)} left, at the pace of the last 5 tasks that were closed."


def tokens_sentence(stats: Stats) -> str:
    """Return how many tokens were used, and how many of them belong to no task; or that this is not known."""
    if stats.tokens is None:
        return TOKENS_UNKNOWN
    elsewhere = stats.tokens - sum(entry.tokens or 0 for entry in stats.tasks)
    of_none = f", {token_count(elsewhere)} of them while no single task was in progress" if elsewhere else ""
    return f"{token_count(stats.tokens)} tokens in conversations of tildone run{of_none}."


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
