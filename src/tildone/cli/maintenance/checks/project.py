"""The check of the project's plan: what it holds, and whether something keeps agents from being continued on it."""

from __future__ import annotations

import os

from tildone.app.opening import open_store
from tildone.cli.maintenance.checks.store import STORE_TIMEOUT_SECONDS
from tildone.core.query import progress
from tildone.distribution import program
from tildone.errors import TildoneError
from tildone.kit.formatting import format_count
from tildone.log.events import Directive
from tildone.log.findings import Finding, Severity
from tildone.log.state import latest_state
from tildone.typing import TYPE_CHECKING
from tildone.views.bounds import describe_bound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.cli.maintenance.checks.context import CheckContext
    from tildone.log.state import State

HELD = {
    Directive.PAUSE: "agents are paused: they are not continued when they stop",
    Directive.STOP: "agents are stopped: their next tool call ends their turn",
}


def plan_of_project(context: CheckContext) -> Iterator[Finding]:
    """The project and its session, and whether a directive or a bound holds its agents."""
    settings = context.settings
    session = "" if settings.session == settings.project else f", session {settings.session!r}"
    state = _state(context)
    if state is None:
        yield Finding(Severity.OK, f"{settings.project}{session}: no plan yet")
        return
    counts = progress(state.plan)
    plan = f"{format_count(counts.total, 'task')}, {counts.total - counts.closed} open" if counts.total else "no tasks"
    yield Finding(Severity.OK, f"{settings.project}{session}: {plan}")
    if state.directive in HELD:
        yield Finding(Severity.WARNING, HELD[state.directive], f"{program()} resume")
    if state.tripped:
        bound = describe_bound(state.tripped.bound, state.tripped.limit)
        what = f"a bound was reached ({bound}), so that agents are not continued until you send them a prompt"
        yield Finding(Severity.WARNING, what, f"{program()} resume")


def _state(context: CheckContext) -> State | None:
    """The state of the session; None if there is none, or if the store is broken, which its own check reports."""
    path = context.settings.store.path
    if path is not None and not os.path.exists(path):
        return None
    try:
        store = open_store(context.settings, timeout=STORE_TIMEOUT_SECONDS, read_only=True)
    except TildoneError:
        return None
    try:
        state = latest_state(store.history(context.settings.session))
    except TildoneError:
        return None
    finally:
        store.close()
    return state if state.head is not None else None
