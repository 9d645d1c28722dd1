"""One session as the board shows it: its plan, the newest events, when each task was worked on, and what is left."""

from __future__ import annotations

from collections.abc import Iterator

from tildone.core.plan import Plan, Status
from tildone.core.query import progress
from tildone.errors import UnknownEvent
from tildone.history.changes import changes
from tildone.history.sentences import change_sentences
from tildone.history.stats import Stats, session_stats
from tildone.history.timeline import newest_events, timeline
from tildone.log.events import Event, PlanChanged
from tildone.log.state import State, latest_state
from tildone.log.store import Store
from tildone.log.tree import labels
from tildone.loop.decision import Patience
from tildone.value import value
from tildone.views.amounts import usage_text
from tildone.web.data import Data, claims_data, history_data, plan_data

PAGE_EVENTS = 200
MAX_TASKS_READ = 40_000
"""How many tasks, in the plans of all events, the lanes are drawn from: reading a plan takes time for each of them."""

MANY_MINUTES = 120
"""From here on, whole hours are told in hours."""

LANES = {Status.IN_PROGRESS: "worked", Status.BLOCKED: "blocked"}


@value
class Page:
    """Some events of a branch, the oldest first, as data. `before` is where older ones begin; None without any."""

    rows: tuple[Data, ...]
    before: str | None = None


def history_page(store: Store, name: str, head: str, limit: int, nudge_limit: int) -> Page:
    """Return the newest events of the branch that ends with `head`.

    Raises:
        UnknownEvent: there is no such event.
    """
    events = newest_events(store.history(name, head), limit)
    shown = min(limit, len(events))
    older = events[-shown].parent if shown else None
    rows = timeline(events, head, str, nudge_limit)
    return Page(tuple(history_data(events[-shown:], rows[-shown:])) if shown else (), older)


def session_data(store: Store, name: str, state: State, patience: Patience, cost: float, now: int) -> Data:
    """Return the plan of a session at its head, its newest events, lanes and bounds. `cost` is what it has cost."""
    head = state.head
    stats = _stats(store, name, head, now) if head else None
    page = history_page(store, name, head, PAGE_EVENTS, patience.nudges) if head else Page(())
    redo = store.session_head(name).redo
    undo = next((row["id"] for row in reversed(page.rows) if row["kind"] in ("change", "person")), None)
    worked = {entry.task.number: entry.worked for entry in stats.tasks} if stats else {}
    return {
        "head": head,
        "directive": state.directive.value,
        "plan": plan_data(state.plan, worked),
        "history": {"rows": list(page.rows), "before": page.before},
        "undo": undo,
        "can_undo": undo is not None,
        "can_redo": bool(redo),
        "bounds": bounds_data(state, patience, cost, now),
        "used": _used(stats) if stats else {},
        "told": {str(entry.task.number): entry.nudges for entry in stats.tasks if entry.nudges} if stats else {},
        "claims": claims_data(state.plan, store.records.claims(name)),
        **_over_time(stats, state.plan, now),
    }


def plan_at(store: Store, name: str, event: str) -> tuple[Event, Plan]:
    """Return an event, and the plan as it was then.

    Raises:
        UnknownEvent: there is no such event.
    """
    found = next(store.history(name, event), None)
    if found is None:
        raise UnknownEvent(f"there is no event {event}")
    return found, latest_state(store.history(name, event)).plan


def difference(before: Plan, after: Plan) -> list[str]:
    """Return what has changed from one plan to another, as sentences."""
    return change_sentences(changes(before, after), numbers=False)


def bounds_data(state: State, patience: Patience, cost: float, now: int) -> list[Data]:
    """Return the bounds of the agent, each with how much of it is used. `main` ones are worth reading at any time."""
    ledger = state.ledger
    minutes = (now - state.since) // 60_000 if state.since else 0
    hours = (now - ledger.began) // 3_600_000 if ledger.began else 0
    nudges_left = max(0, patience.nudges - state.nudges)
    limit = patience.cost or 0
    bounds = (
        ("Nudges left", patience.nudges, state.nudges, f"{nudges_left} of {patience.nudges}", True),
        ("Without progress", patience.minutes, minutes, f"{_span(minutes)} of {_span(patience.minutes)}", True),
        ("Cost", limit, cost, f"${cost:.2f} of ${limit:.2f}", True),
        ("Nudges, no progress", patience.drift, state.drift, f"{state.drift} of {patience.drift}", False),
        ("Same words", patience.repeats, state.repeats, f"{state.repeats} of {patience.repeats} times", False),
        ("Nudges since you", patience.total, ledger.continued, f"{ledger.continued} of {patience.total}", False),
        ("Since you spoke", patience.hours, hours, f"{hours} of {patience.hours} h", False),
    )
    return [
        {"name": name, "used": used, "limit": most, "text": text, "main": main}
        for name, most, used, text, main in bounds
        if most
    ]


def _span(minutes: int) -> str:
    return f"{minutes // 60} h" if minutes >= MANY_MINUTES and minutes % 60 == 0 else f"{minutes} min"


def _over_time(stats: Stats | None, plan: Plan, now: int) -> Data:
    """Return the lanes of the tasks by number, the open tasks over time, and the estimate."""
    if stats is None:
        total = progress(plan).total
        return {"lanes": {}, "open": [[now, 0, total]] if total else [], "estimate": None}
    ends = stats.times[-1]
    lanes: dict[str, list[list[object]]] = {}
    for entry in stats.tasks:
        if entry.is_removed or not entry.periods:
            continue
        active = entry.task.status in LANES
        lanes[str(entry.task.number)] = [
            [each.start, None if active and each.end == ends else each.end, LANES[each.status]]
            for each in entry.periods
        ]
    remaining = stats.estimate.remaining
    return {
        "lanes": lanes,
        "open": [[at, count] for at, count in stats.open_steps],
        "estimate": {"at": None if remaining is None else now + remaining, "reason": _reason(stats)},
    }


def _used(stats: Stats) -> dict[str, str]:
    """Return the tokens and the cost of the tasks by number, as texts, if they are known."""
    texts = {str(entry.task.number): usage_text(None, entry.tokens, entry.cost) for entry in stats.tasks}
    return {number: text for number, text in texts.items() if text}


def _reason(stats: Stats) -> str | None:
    return stats.estimate.reason.removeprefix("no estimate: ") or None


def _stats(store: Store, name: str, head: str, now: int) -> Stats | None:
    """Return the statistics of as much of the branch as can be read in little time; the newest events count."""
    newest_first = list(_readable(store.history(name, head)))
    return session_stats(newest_first[::-1], now, labels(newest_first[::-1]))


def _readable(newest_first: Iterator[Event]) -> Iterator[Event]:
    left = MAX_TASKS_READ
    for event in newest_first:
        yield event
        left -= 1 + (len(event.fact.plan.tasks) if isinstance(event.fact, PlanChanged) else 0)
        if left < 0:
            return
