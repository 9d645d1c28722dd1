"""`tildone sessions`: list the sessions in the store."""

from __future__ import annotations

from tildone.cli.opening import settings_for
from tildone.cli.output.amounts import counted
from tildone.cli.output.screen import moment, put, put_spans
from tildone.cli.parsing.table import ParsedArgs
from tildone.core.query import progress
from tildone.kit.theme import Role, Span
from tildone.log import codec
from tildone.log.state import latest_state
from tildone.typing import TYPE_CHECKING
from tildone.wiring import open_store

if TYPE_CHECKING:
    from tildone.core.query import PlanProgress
    from tildone.log.tree import SessionInfo

CURRENT_MARK = "●"


def run(args: ParsedArgs) -> int:
    """List the sessions, the last changed first, the current one marked."""
    settings = settings_for(args)
    store = open_store(settings)
    found = [(info, progress(latest_state(store.history(info.name)).plan)) for info in store.sessions()]
    if args.has("json"):
        put(codec.dump([_as_data(*each, current=each[0].name == settings.session) for each in found]))
    elif found:
        put_spans(_rows(found, settings.session))
    else:
        put(f"{settings.store.redacted} has no sessions yet. Start one with: tildone todo append TEXT")
    return 0


def _as_data(info: SessionInfo, counts: PlanProgress, *, current: bool) -> dict[str, object]:
    return {
        "name": info.name,
        "current": current,
        "closed": counts.closed,
        "total": counts.total,
        "events": info.events,
        "created": info.created,
        "updated": info.updated,
    }


def _rows(found: list[tuple[SessionInfo, PlanProgress]], current: str) -> list[tuple[Span, ...]]:
    """One line for each session. The name is last, because it may be long."""
    rows: list[tuple[Span, ...]] = []
    for info, counts in found:
        is_current = info.name == current
        rows.append(
            (
                Span(CURRENT_MARK if is_current else " ", Role.ACCENT),
                Span(f" {moment(info.updated)}  ", Role.DIM),
                Span(f"{counts.closed}/{counts.total}".rjust(7)),
                Span(f"  {counted(info.events, 'event').rjust(10)}  ", Role.MUTED),
                Span(info.name, bold=is_current),
            )
        )
    return rows
