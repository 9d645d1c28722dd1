"""Reading: the list of sessions, one session, its past, what waits for a person, and statistics."""

import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from tildone.app.sessions import Cursor, SessionRow
from tildone.base import value
from tildone.base.ids import local_time, now
from tildone.plan.events import Event, Nudged, PlanChanged, Tripped, branch, by_id, labels
from tildone.plan.formats import archive
from tildone.plan.formats.archive import Archive
from tildone.plan.formats.markdown import lossless_checklist
from tildone.plan.history.changes import ChangeKind, changes
from tildone.plan.history.stats import NO_STATS, session_stats, stats_data
from tildone.plan.model import Plan
from tildone.plan.text.state import SessionWord
from tildone.screens.board.access import Visitor
from tildone.screens.board.board import Board
from tildone.screens.board.data import (
    PAGE_EVENTS,
    counts_data,
    difference,
    history_page,
    plan_at,
    plan_data,
)
from tildone.screens.board.http import ApiAnswer, Problem, json_bytes


@value
class Visit:
    """Who asks for what. `key` is that of a session, `item` another part of the path, `head` what `If-Match` names."""

    board: Board
    visitor: Visitor
    query: Mapping[str, str]
    body: Mapping[str, Any]
    key: str = ""
    item: str = ""
    head: str | None = None
    known: str = ""

    def text(self, name: str, *, required: bool = True) -> str:
        """Return a text in the body. Raises Problem if it is missing, or no text."""
        found = self.body.get(name, None if required else "")
        if not isinstance(found, str):
            raise Problem(400, f"{name!r} has to be a text.")
        return found

    def number(self, name: str, default: int, most: int) -> int:
        """Return a number in the query, at most `most`. Raises Problem if it is no number."""
        given = self.query.get(name, "")
        if not given:
            return default
        if not given.isdecimal() or len(given) > 15:  # noqa: PLR2004  longer numbers are no times
            raise Problem(400, f"{name} has to be a number.")
        return min(int(given), most)

    @property
    def seen_head(self) -> str:
        """The head that the person saw. Raises Problem if the request does not name it."""
        if self.head is None:
            raise Problem(428, "The request does not say which plan you saw.", 'Send If-Match: "HEAD".')
        return self.head


MAX_ROWS, DEFAULT_ROWS = 200, 60
MAX_BUCKETS, DEFAULT_BUCKETS = 2000, 200
MAX_QUERY = 200
SORTS = {"activity": "activity", "updated": "updated", "name": "title", "title": "title", "created": "created"}

Handler = Callable[[Visit], ApiAnswer]


def sessions(visit: Visit) -> ApiAnswer:
    words = [word for word in visit.query.get("state", "").replace("-", " ").split(",") if word]
    known = {word.value: word for word in SessionWord}
    if unknown := [word for word in words if word not in known]:
        raise Problem(400, f"There is no state {unknown[0][:40]!r}.", f"The states are: {', '.join(known)}.")
    after = visit.query.get("after")
    page = visit.board.index.rows(
        words=[known[word] for word in words],
        query=f"{visit.query.get('q', '')} {visit.query.get('by', '')}"[:MAX_QUERY],
        sort=SORTS.get(visit.query.get("sort", "activity"), visit.query.get("sort", "")),
        after=Cursor(after) if after else None,
        limit=visit.number("limit", DEFAULT_ROWS, MAX_ROWS),
    )
    return ApiAnswer(
        {
            "sessions": [visit.board.row_data(row) for row in page.rows],
            "after": page.after,
            "counts": counts_data(visit.board.index.counts()),
            "unreadable": len(visit.board.index.unreadable()),
            "user": visit.visitor.name or None,
        }
    )


def needs(visit: Visit) -> ApiAnswer:
    return ApiAnswer(visit.board.needs())


def session(visit: Visit) -> ApiAnswer:
    """Return one session, or with `at` its plan at an event, compared with now or with another event.

    `since` names the head that a page shows: what differs is returned, if that is known.
    """
    row = visit.board.row(visit.key)
    if "at" in visit.query:
        return _past(visit, visit.query["at"])
    board = visit.board
    if "since" in visit.query and (found := board.shown_since(row, visit.query["since"] or None)):
        return ApiAnswer(found)
    tag = _tag(visit, row)
    if visit.known == tag:
        return ApiAnswer(None, (("ETag", tag),))
    return ApiAnswer(board.shown(row), (("ETag", tag),))


def moment(visit: Visit) -> ApiAnswer:
    """Return the plan at an event, compared with now or with another event."""
    return _past(visit, visit.item)


def _past(visit: Visit, event_id: str) -> ApiAnswer:
    """Return the plan at an event. `since` tells what has changed from it, `back` what a restore would change."""
    board, name = visit.board, visit.board.row(visit.key).name
    event, plan = plan_at(board.store, name, event_id)
    other = plan_at(board.store, name, visit.query["vs"])[1] if "vs" in visit.query else board.views[name].state.plan
    return ApiAnswer(
        {
            "event": event.id,
            "at": event.at,
            "plan": plan_data(plan),
            "vs": plan_data(other) if "vs" in visit.query else None,
            "since": difference(plan, other),
            "back": difference(other, plan),
        }
    )


def history(visit: Visit) -> ApiAnswer:
    board, row = visit.board, visit.board.row(visit.key)
    head = visit.query.get("before") or board.store.session_head(row.name).head
    limit = visit.number("limit", PAGE_EVENTS, PAGE_EVENTS)
    if head is None or not limit:
        return ApiAnswer({"name": row.title, "rows": [], "before": None, "total": row.events})
    page = history_page(board.store, row.name, head, limit, board.patience.nudges)
    return ApiAnswer({"name": row.title, "rows": list(page.rows)[::-1], "before": page.before, "total": row.events})


def density(visit: Visit) -> ApiAnswer:
    row = visit.board.row(visit.key)
    begin, end = visit.number("from", row.created, 2**53), visit.number("to", row.updated + 1, 2**53)
    buckets = visit.number("n", DEFAULT_BUCKETS, MAX_BUCKETS)
    if begin >= end or not buckets:
        raise Problem(400, "from has to be before to, and n at least 1.")
    counts = visit.board.store.records.density(row.name, begin, end, buckets)
    return ApiAnswer({"from": begin, "to": end, "counts": list(counts)})


def stats(visit: Visit) -> ApiAnswer:
    """Return the statistics of a session, as `tildone stats --json` does; times are in milliseconds."""
    store, row = visit.board.store, visit.board.row(visit.key)
    head = store.session_head(row.name).head
    events = by_id(store.events(row.name))
    found = session_stats(branch(events, head), now(), labels(events.values()))
    # The times of the whole API are numbers.
    data = stats_data(found, lambda at: at) if found else dict(NO_STATS)  # type: ignore[arg-type, return-value]  # see above
    return ApiAnswer({"key": visit.board.keys.key(row.name), "title": row.title, **data})


def markdown(visit: Visit) -> ApiAnswer:
    plan = visit.board.views[visit.board.row(visit.key).name].state.plan
    return ApiAnswer(lossless_checklist(plan, escaped=True).encode("utf-8", "replace"))


def archived(visit: Visit) -> ApiAnswer:
    """Return the session with its whole history, as `tildone export --as json` does."""
    store, row = visit.board.store, visit.board.row(visit.key)
    head = store.session_head(row.name)
    return ApiAnswer(archive.write(Archive(row.name, head, tuple(store.events(row.name)))).encode())


def _tag(visit: Visit, row: SessionRow) -> str:
    """Return the tag of all that an answer about a session shows: its head, and who works on which task."""
    claims = [(claim.task, claim.epoch, claim.until) for claim in visit.board.store.records.claims(row.name)]
    shown = json_bytes([visit.board.row_data(row), [need.id for need in row.needs], claims])
    return f'"{row.head or "empty"}.{zlib.crc32(shown):08x}"'


DAYS, MAX_DAYS = 14, 90
DAY_MS = 86_400_000
ALL_ROWS = 1_000_000
MAX_SESSIONS, MAX_EVENTS = 300, 500
"""How many sessions are read, the last changed first, and how many of the newest events of each."""

Counts = dict[str, Counter[str]]


def overall(visit: Visit) -> ApiAnswer:
    days = visit.number("days", DAYS, MAX_DAYS) or DAYS
    rows = visit.board.index.rows(sort="updated", limit=ALL_ROWS).rows
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
