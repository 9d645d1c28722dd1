"""`tildone label` and `branch`: label events, so that `tildone checkout` can name them, and list the branches."""

from __future__ import annotations

from shlex import quote

from tildone.app import moves
from tildone.base import UsageError, replace
from tildone.base.ids import local_time, timestamp
from tildone.cli.history.log import print_no_events
from tildone.cli.opening import open_for_moving, open_for_reading
from tildone.cli.output import columns, put, put_spans
from tildone.cli.output.prompts import put_data
from tildone.cli.table import ParsedArgs
from tildone.log.session import Session
from tildone.plan.events import Event
from tildone.plan.history.branches import Branch, branch_lines, branches
from tildone.plan.history.refs import events_by_label, resolve
from tildone.plan.history.requests import rows_lines
from tildone.plan.history.timeline import TimelineRow, event_data, timeline
from tildone.plan.text.safe import printable


def run_label(args: ParsedArgs) -> int:
    """Label an event, remove a label, or list the labels."""
    session = open_for_moving(args) if args.positional else open_for_reading(args)
    name, event = (*args.positional, "", "")[:2]
    if not args.positional:
        if args.has("remove"):
            raise UsageError("--remove requires a NAME: tildone label NAME --remove")
        return _list(args, session)
    if args.has("remove"):
        if event:
            raise UsageError("--remove takes no EVENT: tildone label NAME --remove")
        put(f"Removed the label of {moves.short_id(moves.remove_label(session, name))}.")
        return 0
    target = resolve(session.store, session.name, event) if event else moves.newest_change(session)
    return _set_label(session, name, target, force=args.has("force"))


def _set_label(session: Session, name: str, target: str | None, *, force: bool) -> int:
    found = moves.set_label(session, name, target, force=force)
    if not found.changed:
        put(f"{moves.short_id(found.event)} already has the label “{name}”.")
        return 0
    former = f" It was labelled “{printable(found.former)}”." if found.former else ""
    put(f"Labelled {moves.short_id(found.event)} “{name}”.{former}")
    put(f"To return to it: tildone checkout {quote(name)}")
    return 0


def _list(args: ParsedArgs, session: Session) -> int:
    events = list(session.store.events(session.name))
    rows = timeline(events, session.store.session_head(session.name).head, local_time)
    found = [(event, row) for event, row in zip(events, rows, strict=True) if row.label is not None][::-1]
    names = {event: name for name, event in events_by_label(events).items()}
    if args.has("json"):
        put_data(session=session.name, labels=[_label_data(event, row, names) for event, row in found])
    elif found:
        put_spans(rows_lines([replace(row, after=None) for _, row in found], columns()))
    else:
        put("There are no labels. To label the current point: tildone label NAME")
    return 0


def _label_data(event: Event, row: TimelineRow, names: dict[str, str]) -> dict[str, object]:
    return {"label": names.get(event.id, row.label)} | event_data(event, timestamp) | {"what": row.what}


def run_branch(args: ParsedArgs) -> int:
    """List the branches, or label the current point."""
    if args.positional:
        if args.has("json"):
            raise UsageError("tildone branch --json lists all branches; it takes no NAME")
        session = open_for_moving(args)
        return _set_label(session, args.positional[0], moves.newest_change(session), force=args.has("force"))
    session = open_for_reading(args)
    events = list(session.store.events(session.name))
    found = branches(events, session.store.session_head(session.name).head)
    if args.has("json"):
        put_data(session=session.name, branches=[_branch_data(each) for each in found] if events else [])
    elif events:
        put_spans(branch_lines(found, [event.id for event in events], local_time, columns()))
    else:
        print_no_events(session)
    return 0


def _branch_data(found: Branch) -> dict[str, object]:
    return {
        "current": found.current,
        "end": found.end and event_data(found.end, timestamp),
        "label": found.label,
        "changes_since_label": found.since if found.label is not None else None,
        "closed": found.progress.closed,
        "total": found.progress.total,
        "fork_point": found.fork_point,
        "what": found.changes,
    }
