"""`tildone sessions`: list the sessions in the store."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING
from tildone.base.ids import now, timestamp
from tildone.cli.opening import open_to_read, settings_for, with_session
from tildone.cli.output import max_columns, put, put_spans
from tildone.cli.output.prompts import exit_code_for, put_data
from tildone.cli.output.titles import titled_sessions
from tildone.cli.table import ParsedArgs
from tildone.plan.model import progress
from tildone.plan.text.amounts import ago
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Role, Span, clip_text, display_width

if TYPE_CHECKING:
    from tildone.cli.output.titles import TitledSession

    Row = tuple[Span, ...]

CURRENT_MARK = "●"
MAX_TITLE_COLUMNS = 32
MIN_COLUMNS_FOR_ONE_LINE = 72


def run(args: ParsedArgs) -> int:
    """List the sessions, the last changed first, the current one marked."""
    settings = settings_for(args)
    store = open_to_read(settings)
    current = with_session(args, settings, store).session
    left_out: list[str] = []
    found = titled_sessions(store, left_out)
    left_out += store.unreadable()
    if args.has("json"):
        listed = [_as_data(each, current=each.info.name == current) for each in found]
        put_data(sessions=listed, left_out=left_out)
    elif found:
        put_spans(_rows(found, current, max_columns()))
    elif not left_out:
        put(f"{printable(settings.store.redacted)} has no sessions yet. Start one with: tildone todo add TEXT")
    return exit_code_for(left_out)


def _as_data(session: TitledSession, *, current: bool) -> dict[str, object]:
    info, counts = session.info, progress(session.plan)
    return {
        "name": info.name,
        "title": session.title,
        "current": current,
        "closed": counts.closed,
        "total": counts.total,
        "events": info.events,
        "created": timestamp(info.created),
        "updated": timestamp(info.updated),
    }


def _rows(found: list[TitledSession], current: str, width: int) -> list[Row]:
    """One line for each session; two on a narrow terminal. The name is last, because it may be long."""
    moment = now()
    longest = min(MAX_TITLE_COLUMNS, max(display_width(each.title) for each in found))
    rows: list[Row] = []
    for session in found:
        is_current = session.info.name == current
        counts = progress(session.plan)
        done = f"{counts.closed}/{counts.total}"
        mark = Span(f"{CURRENT_MARK if is_current else ' '} ", Role.ACCENT)
        when = ago(moment - session.info.updated)
        if width < MIN_COLUMNS_FOR_ONE_LINE:
            title = clip_text(session.title, max(1, width - len(done) - 4))
            rows.append((mark, Span(title, bold=is_current), Span(f"  {done}")))
            rows.append((Span(clip_text(f"  {when}  {session.short_name}".rstrip(), width), Role.DIM),))
            continue
        title = clip_text(session.title, longest)
        title += " " * (longest - display_width(title))
        left = f"  {done:>7}  {when:>14}  "
        name = clip_text(session.short_name, max(1, width - longest - len(left) - 2))
        rows.append((mark, Span(title, bold=is_current), Span(left, Role.MUTED), Span(name, Role.DIM)))
    return rows
