"""The statistics of a plan as JSON data. `docs/reference/json.md` documents the fields."""

from __future__ import annotations

from tildone.core.plan import Status
from tildone.history.event_data import event_data
from tildone.history.stats import MarkKind
from tildone.log.events import Nudged, Tripped
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.history.event_data import Data, When
    from tildone.history.stats import Stats, TaskStats, TimeMark

DECIMALS = 6
"""Of an amount in dollars."""

NO_STATS: Data = {
    "from": None,
    "to": None,
    "closed": 0,
    "total": 0,
    "open": [],
    "tasks": [],
    "nudges": [],
    "let_goes": [],
    "changes_by_people": [],
    "labels": [],
    "estimate": {"remaining_ms": None, "reason": "the plan is empty"},
    "tokens": None,
    "cost": None,
}
"""The statistics of a plan that never had a task."""


def stats_data(stats: Stats, when: When) -> Data:
    """Return everything that the pictures show. `when` formats a time in milliseconds."""

    def marks(kind: MarkKind) -> list[Data]:
        return [event_data(mark.event, when) | _details(mark) for mark in stats.of_kind(kind)]

    return {
        "from": when(stats.times[0]),
        "to": when(stats.times[-1]),
        "closed": stats.progress.closed,
        "total": stats.progress.total,
        "open": [{"at": when(at), "count": count} for at, count in stats.open_steps],
        "tasks": [_task_data(entry, when) for entry in stats.tasks],
        "nudges": marks(MarkKind.NUDGE),
        "let_goes": marks(MarkKind.LET_GO),
        "changes_by_people": marks(MarkKind.PERSON),
        "labels": marks(MarkKind.LABEL),
        "estimate": {"remaining_ms": stats.estimate.remaining, "reason": stats.estimate.reason or None},
        "tokens": stats.tokens,
        "cost": _dollars(stats.cost),
    }


def _task_data(entry: TaskStats, when: When) -> Data:
    return {
        "number": entry.task.number or None,
        "text": entry.task.text,
        "status": entry.task.status.value,
        "phase": entry.phase,
        "removed": entry.is_removed,
        "in_progress_ms": entry.worked,
        "blocked_ms": entry.total(Status.BLOCKED),
        "tokens": entry.tokens,
        "cost": _dollars(entry.cost),
        "nudges": entry.nudges,
        "periods": [
            {"from": when(each.start), "to": when(each.end), "status": each.status.value} for each in entry.periods
        ],
    }


def _dollars(cost: float | None) -> float | None:
    """Return a sum of amounts without the digits that only the addition has caused."""
    return None if cost is None else round(cost, DECIMALS)


def _details(mark: TimeMark) -> Data:
    match mark.event.fact:
        case _ if mark.kind is MarkKind.LABEL:
            return {"label": mark.label}
        case Nudged(count, of_subagent=of_subagent):
            return {"count": count, "of_subagent": of_subagent}
        case Tripped(bound, limit):
            return {"bound": bound.value, "limit": limit}
        case _:
            return {}
