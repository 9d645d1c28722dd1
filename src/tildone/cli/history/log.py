"""`tildone log`: show what happened to the plan, who did it, and how long it took."""

from __future__ import annotations

from tildone.app.opening import session_title
from tildone.base import TYPE_CHECKING, UsageError
from tildone.base.ids import local_time, timestamp
from tildone.cli.opening import open_for_reading
from tildone.cli.output import columns, put, put_spans
from tildone.cli.output.prompts import put_data
from tildone.cli.table import ParsedArgs

if TYPE_CHECKING:
    from tildone.log.session import Session

DEFAULT_LIMIT = 20


def run(args: ParsedArgs) -> int:
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
    from tildone.plan.history.timeline import newest_events, row_data, rows_lines, timeline

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
    from tildone.base.ids import now
    from tildone.plan.history.blame import task_histories
    from tildone.plan.history.stats_lines import duration_lines
    from tildone.plan.history.timeline import durations_data, task_data

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
