"""The rows of lists of runs, read from the store, and their JSON."""

from __future__ import annotations

from tildone.cli.fleet.questions import questions_of
from tildone.cli.output.amounts import MILLISECONDS_PER_DAY
from tildone.core.query import next_task, progress
from tildone.errors import StoreDamaged
from tildone.history.usage import plan_usage
from tildone.ids import timestamp
from tildone.log.state import State, apply_event
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.fleet import RunRow, listed_first, row_state

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tildone.cli.fleet.opening import Fleet
    from tildone.log.fleet.workers import RunView

    Doing = tuple[str, int, int, float | None]


@value
class Rows:
    """The rows to list, and those that are left out because the list would be too long."""

    shown: tuple[RunRow, ...]
    more: tuple[RunRow, ...] = ()


def recent(views: Iterable[RunView], now: int) -> list[RunView]:
    """Return the hands of runs that have not ended, or ended within a day."""
    return [view for view in views if view.lease.state.is_living or now - view.lease.since < MILLISECONDS_PER_DAY]


def rows_of(fleet: Fleet, views: Iterable[RunView], now: int, left_out: list[str], most: int | None = None) -> Rows:
    """Return the rows of runs, what waits for a person first; `left_out` is told about plans that cannot be read.

    With `most`, only so many are read and returned; the plans of the others are not looked at.
    """
    known = list(views)
    asked = _asked(fleet, known)
    rows = [RunRow(view, asked.get((view.lease.run, view.lease.hand), "")) for view in known]
    rows.sort(key=lambda row: listed_first(row, now))
    cut = len(rows) if most is None else most
    plans: dict[str, Doing] = {}
    shown = []
    for row in rows[:cut]:
        session = row.lease.session
        if session not in plans:
            try:
                plans[session] = _read(fleet, session, now)
            except StoreDamaged as error:
                left_out.append(f"session {session!r}: {error}")
                plans[session] = ("", 0, 0, None)
        shown.append(RunRow(row.view, row.asks, *plans[session]))
    return Rows(tuple(shown), tuple(rows[cut:]))


def as_data(row: RunRow, now: int) -> dict[str, object]:
    """Return a row for JSON output."""
    lease, work = row.lease, row.lease.work
    return {
        "run": lease.run,
        "hand": lease.hand,
        "state": row_state(row, now),
        "session": lease.session,
        "worker": lease.worker or None,
        "task": row.task or None,
        "closed": row.closed,
        "total": row.total,
        "cost": row.cost,
        "made": timestamp(lease.made),
        "since": timestamp(lease.since),
        "attempt": lease.attempt,
        "fails": lease.fails,
        "asks": row.asks or None,
        "questions": list(lease.questions),
        "agent": work.agent,
        "model": work.model or None,
        "repo": work.repo or None,
        "labels": list(work.labels),
    }


def _asked(fleet: Fleet, views: Sequence[RunView]) -> dict[tuple[str, int], str]:
    """Return the first open question of each hand. One that does not name its hand is that of the first."""
    hands = {question: view.lease.hand for view in views for question in view.lease.questions}
    found: dict[tuple[str, int], str] = {}
    for question in questions_of(fleet, views):
        found.setdefault((question.run, hands.get(question.id, 0)), question.text or "a question")
    return found


def _read(fleet: Fleet, session: str, now: int) -> Doing:
    """Return the task to work on, the closed and all tasks, and the cost of a plan."""
    oldest_first = list(fleet.store.history(session))[::-1]
    state = State()
    for event in oldest_first:
        state = apply_event(state, event)
    counts, upcoming = progress(state.plan), next_task(state.plan)
    task = upcoming[1].text if upcoming else ""
    return task, counts.closed, counts.total, plan_usage(oldest_first, now).total.cost
