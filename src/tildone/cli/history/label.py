"""`tildone label`: label events, so that `tildone checkout` can name them."""

from __future__ import annotations

from shlex import quote

from tildone.app import moves
from tildone.cli.opening import open_for_moving, open_for_reading
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import columns, put, put_spans
from tildone.cli.parsing.table import ParsedArgs
from tildone.errors import UsageError
from tildone.history.event_data import event_data
from tildone.history.timeline import timeline
from tildone.history.timeline_lines import rows_lines
from tildone.ids import local_time, timestamp
from tildone.log.refs import events_by_label, resolve
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.history.timeline import TimelineRow
    from tildone.log.events import Event
    from tildone.session import Session


def run(args: ParsedArgs) -> int:
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


def label_head(args: ParsedArgs) -> int:
    """Label the current point."""
    session = open_for_moving(args)
    return _set_label(session, args.positional[0], moves.newest_change(session), force=args.has("force"))


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
        put_data(session=session.name, labels=[_as_data(event, row, names) for event, row in found])
    elif found:
        put_spans(rows_lines([replace(row, after=None) for _, row in found], columns()))
    else:
        put("There are no labels. To label the current point: tildone label NAME")
    return 0


def _as_data(event: Event, row: TimelineRow, names: dict[str, str]) -> dict[str, object]:
    return {"label": names.get(event.id, row.label)} | event_data(event, timestamp) | {"what": row.what}
