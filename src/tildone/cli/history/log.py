"""`tildone log`: show what happened to the plan, who did it, and how long it took."""

from __future__ import annotations

from tildone.app.opening import session_title
from tildone.cli.opening import open_for_reading
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import columns, put, put_spans
from tildone.cli.parsing.table import ParsedArgs
from tildone.errors import UsageError
from tildone.ids import local_time, timestamp
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.session import Session

DEFAULT_LIMIT = 20


def run(args: ParsedArgs) -> int:
    """Show the events, newest first, or how long each task took."""
    limit = args.positive_int("limit", DEFAULT_LIMIT)
    if args.has("tasks"):
        if args.has("all") or args.has("limit"):
            raise UsageError("log --tasks lists every task of this branch; it takes neither --all nor --limit")
        return _tasks(args, open_for_reading(args))
    return _events(args, open_for_reading(args), limit)


def print_no_events(session: Session) -> None:
    """Explain an empty history: the session is new, or its head is before the first change."""
    if session.store.leaves(session.name):
        put("This is before the first change. Later changes are on a branch: tildone branch")
        return
    put(f"{session_title(session.name)} has no events yet. Start with: tildone todo add TEXT")


def _events(args: ParsedArgs, session: Session, limit: int) -> int:
    # Imported here and below, because each of the two outputs needs its own.
    from tildone.history.event_data import row_data  # noqa: PLC0415  see above
    from tildone.history.timeline import newest_events, timeline  # noqa: PLC0415  see above
    from tildone.history.timeline_lines import rows_lines  # noqa: PLC0415  see above

    store, name = session.store, session.name
    head = store.session_head(name).head
    events = list(store.events(name)) if args.has("all") else newest_events(store.history(name), limit)
    rows = timeline(events, head, local_time, session.patience.nudges)
    shown = list(zip(events, rows, strict=True))[::-1][:limit]
    if args.has("json"):
        put_data(session=name, events=[row_data(event, row, timestamp) for event, row in shown])
    elif shown:
        put_spans(rows_lines([row for _, row in shown], columns()))
    else:
        print_no_events(session)
    return 0


def _tasks(args: ParsedArgs, session: Session) -> int:
    from tildone.history.duration_lines import duration_lines  # noqa: PLC0415  see above
    from tildone.history.event_data import durations_data, task_data  # noqa: PLC0415  see above
    from tildone.history.task_history import task_histories  # noqa: PLC0415  see above
    from tildone.ids import now  # noqa: PLC0415  see above

    at = now()
    events = list(session.store.history(session.name))
    found = task_histories(reversed(events))
    if args.has("json"):
        tasks = [task_data(entry, timestamp) | durations_data(entry, at) for entry in found]
        put_data(session=session.name, tasks=tasks)
    elif found:
        put_spans(duration_lines(found, at, columns()))
    elif events:
        put("This branch has no tasks yet.")
    else:
        print_no_events(session)
    return 0
