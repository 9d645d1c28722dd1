"""The rows of lists of runs, read from the store, and their JSON."""

from __future__ import annotations

from tildone.cli.output.amounts import MILLISECONDS_PER_DAY
from tildone.core.query import next_task, progress
from tildone.errors import StoreDamaged
from tildone.history.usage import plan_usage
from tildone.ids import timestamp
from tildone.log.state import State, apply_event
from tildone.typing import TYPE_CHECKING
from tildone.views.fleet import RunRow, state_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.cli.fleet.opening import Fleet
    from tildone.log.fleet.workers import RunView


def recent(views: Iterable[RunView], now: int) -> list[RunView]:
    """Return the hands of runs that have not ended, or ended within a day."""
    return [view for view in views if view.lease.state.is_living or now - view.lease.since < MILLISECONDS_PER_DAY]


def rows_of(fleet: Fleet, views: Iterable[RunView], now: int, left_out: list[str]) -> list[RunRow]:
    """Return the rows of runs; `left_out` is told about plans that cannot be read."""
    plans: dict[str, tuple[str, int, int, float | None]] = {}
    rows = []
    for view in views:
        session = view.lease.session
        if session not in plans:
            try:
                plans[session] = _read(fleet, session, now)
            except StoreDamaged as error:
                left_out.append(f"session {session!r}: {error}")
                plans[session] = ("", 0, 0, None)
        rows.append(RunRow(view, *plans[session]))
    return rows


def as_data(row: RunRow, now: int) -> dict[str, object]:
    """Return a row for JSON output."""
    lease, work = row.lease, row.lease.work
    return {
        "run": lease.run,
        "hand": lease.hand,
        "state": state_of(row.view, now),
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
        "questions": list(lease.questions),
        "agent": work.agent,
        "model": work.model or None,
        "repo": work.repo or None,
        "labels": list(work.labels),
    }


def _read(fleet: Fleet, session: str, now: int) -> tuple[str, int, int, float | None]:
    """Return the task to work on, the closed and all tasks, and the cost of a plan."""
    oldest_first = list(fleet.store.history(session))[::-1]
    state = State()
    for event in oldest_first:
        state = apply_event(state, event)
    counts, upcoming = progress(state.plan), next_task(state.plan)
    task = upcoming[1].text if upcoming else ""
    return task, counts.closed, counts.total, plan_usage(oldest_first, now).total.cost
