"""Reading: the list of sessions, one session, its past, what waits for a person, and statistics."""

import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from tildone.app.sessions import Cursor, SessionRow
from tildone.base import value
from tildone.base.ids import local_time, now
from tildone.plan.events import Event, PlanChanged, branch, by_id, labels
from tildone.plan.formats import archive
from tildone.plan.formats.archive import Archive
from tildone.plan.formats.markdown import lossless_checklist
from tildone.plan.history.stats import (
    COST,
    DECIMALS,
    NO_STATS,
    NUDGES,
    STOPS,
    TASKS,
    TOKENS,
    Key,
    session_stats,
    stats_data,
)
from tildone.plan.model import Status
from tildone.plan.text.state import SessionWord
from tildone.screens.board.access import Visitor
from tildone.screens.board.board import MAX_SEARCHED, Board, bounded_names, tally_after
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
    spent = {"tokens": row.tokens or None, "cost": row.spent or None}
    used = {name: data[name] if data[name] is not None else spent[name] for name in spent}
    return ApiAnswer({"key": visit.board.keys.key(row.name), "title": row.title, **data, **used})


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

MAX_TASKS_COUNTED = 200_000
"""How many tasks are read, in the plans of all these events."""

FIGURES = ("done", "nudges", "let_goes", "tokens", "cost")
COUNTED: Mapping[str, str] = {NUDGES: "nudges", STOPS: "let_goes", TOKENS: "tokens", COST: "cost"}


class Figures:
    """What happened in the last days: in all, by day, by agent and by model. A person is the agent without a name."""

    def __init__(self, days: int, most_tasks: int = MAX_TASKS_COUNTED) -> None:
        self.begin = now() - days * DAY_MS
        self.period = Counter[str]()
        self.days = {_day(self.begin + (index + 1) * DAY_MS): Counter[str]() for index in range(days)}
        self.agents, self.models = defaultdict[str, Counter[str]](Counter), defaultdict[str, Counter[str]](Counter)
        self._left = most_tasks
        self._names = bounded_names()

    def count(self, histories: Iterable[Iterable[Event]]) -> bool:
        """Count the events of sessions, the newest of each first; return whether some of these days were left out."""
        is_cut = False
        for newest_first in histories:
            if self._left < 0:
                return True
            is_cut |= self._count(newest_first)
        return is_cut

    def _count(self, newest_first: Iterable[Event]) -> bool:
        history = iter(newest_first)
        counted: list[Event] = []
        before: list[Event] = []
        for event in history:
            self._left -= len(event.fact.plan.tasks) if isinstance(event.fact, PlanChanged) else 0
            if event.at < self.begin or len(counted) == MAX_EVENTS or self._left < 0:
                before = list(_basis(chain([event], history), counted))
                break
            counted.append(event)
        news: dict[Key, float] = {}
        tally = tally_after(before, news, self._names)
        for event in reversed(counted):
            tally.add(event)
            self._add(event, news)
            news.clear()
        return bool(before) and before[0].at >= self.begin

    def _add(self, event: Event, news: Mapping[Key, float]) -> None:
        day = self.days.get(_day(event.at))
        if day is None:
            return
        figures = Counter({"done": news.get((TASKS, (Status.COMPLETED.value,)), 0)})
        for (kind, _), amount in news.items():
            if kind in COUNTED:
                figures[COUNTED[kind]] += amount  # type: ignore[assignment]  # a cost has decimals
        agents, models = self._names
        agent = agents.of(event.author.agent.partition(":")[0])
        parts = [self.period, day, self.agents[agent]] + ([self.models[models.of(event.author.model)]] if agent else [])
        for part in parts:
            part.update(figures)


def overall(visit: Visit) -> ApiAnswer:
    days = visit.number("days", DAYS, MAX_DAYS) or DAYS
    rows = visit.board.index.rows(sort="updated", limit=ALL_ROWS).rows
    found = Figures(days)
    recent = [row for row in rows if row.updated >= found.begin]
    is_cut = found.count(visit.board.store.history(row.name) for row in recent[:MAX_SESSIONS])
    return ApiAnswer(
        {
            "sessions": len(rows),
            "closed": sum(row.closed for row in rows),
            "total": sum(row.total for row in rows),
            "tokens": sum(row.tokens for row in rows),
            "cost": sum(row.spent for row in rows),
            "partial": is_cut or len(recent) > MAX_SESSIONS,
            "period": _figures(found.period),
            "days": [{"day": day} | _figures(each) for day, each in found.days.items()],
            "agents": _by_name("agent", found.agents),
            "models": _by_name("model", found.models),
        }
    )


def _basis(older: Iterable[Event], counted: Iterable[Event]) -> Iterator[Event]:
    """Yield the events before the counted ones that say what the plan was, and what their agents had used."""
    agents = {event.author.agent for event in counted if event.usage is not None}
    is_planned = False
    for event in islice(older, MAX_SEARCHED):
        yield event
        is_planned |= isinstance(event.fact, PlanChanged)
        if event.usage is not None:
            agents.discard(event.author.agent)
        if is_planned and not agents:
            return


def _figures(counts: Counter[str]) -> dict[str, object]:
    return {name: round(counts[name], DECIMALS) for name in FIGURES}


def _by_name(name: str, parts: Mapping[str, Counter[str]]) -> list[dict[str, object]]:
    """Return the figures of each name, the dearest first; names without any are left out."""
    shown = sorted(parts.items(), key=lambda part: [-part[1][name] for name in ("cost", "tokens", "done")])
    return [{name: value} | _figures(figures) for value, figures in shown if figures.total()]


def _day(at: int) -> str:
    return local_time(at, "%Y-%m-%d")
