"""Statistics of all sessions: tasks done, nudges and let-goes by day, tokens and cost."""

from __future__ import annotations

from collections import Counter

from tildone.core.plan import Plan
from tildone.history.changes import ChangeKind, changes
from tildone.ids import local_time, now
from tildone.log.events import Event, Nudged, PlanChanged, Tripped
from tildone.overview.rows import SessionRow
from tildone.web.api.visit import Visit
from tildone.web.board import Board
from tildone.web.http.answers import ApiAnswer

DAYS, MAX_DAYS = 14, 90
DAY_MS = 86_400_000
MAX_ROWS = 1_000_000
MAX_SESSIONS, MAX_EVENTS = 300, 500
"""How many sessions are read, the last changed first, and how many of the newest events of each."""

Counts = dict[str, Counter[str]]


def overall(visit: Visit) -> ApiAnswer:
    """Return the statistics of all sessions over the last days."""
    days = visit.number("days", DAYS, MAX_DAYS) or DAYS
    rows = visit.board.index.rows(sort="updated", limit=MAX_ROWS).rows
    begin = now() - days * DAY_MS
    counts: Counts = {_day(begin + (index + 1) * DAY_MS): Counter() for index in range(days)}
    recent = [row for row in rows if row.updated >= begin]
    for row in recent[:MAX_SESSIONS]:
        _count(visit.board, row, begin, counts)
    total = Counter[str]()
    for each in counts.values():
        total.update(each)
    return ApiAnswer(
        {
            "sessions": len(rows),
            "closed": sum(row.closed for row in rows),
            "total": sum(row.total for row in rows),
            "nudges": total["nudges"],
            "let_goes": total["let_goes"],
            "tokens": sum(row.tokens for row in rows),
            "cost": sum(row.cost for row in rows),
            "partial": len(recent) > MAX_SESSIONS,
            "days": [
                {"day": day, "done": each["done"], "nudges": each["nudges"], "let_goes": each["let_goes"]}
                for day, each in counts.items()
            ],
        }
    )


def _count(board: Board, row: SessionRow, begin: int, counts: Counts) -> None:
    later: Event | None = None
    for seen, event in enumerate(board.store.history(row.name)):
        if isinstance(event.fact, PlanChanged):
            if later is not None:
                _count_done(event.fact.plan, later, counts)
            later = event
        elif isinstance(event.fact, Nudged | Tripped) and _day(event.at) in counts:
            counts[_day(event.at)]["nudges" if isinstance(event.fact, Nudged) else "let_goes"] += 1
        if event.at < begin or seen >= MAX_EVENTS:
            return
    if later is not None:
        _count_done(Plan(), later, counts)


def _count_done(before: Plan, event: Event, counts: Counts) -> None:
    if isinstance(event.fact, PlanChanged) and _day(event.at) in counts:
        found = changes(before, event.fact.plan)
        counts[_day(event.at)]["done"] += sum(change.kind is ChangeKind.COMPLETED for change in found)


def _day(at: int) -> str:
    return local_time(at, "%Y-%m-%d")
