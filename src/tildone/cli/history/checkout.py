"""`tildone checkout`: move to another point of the history and continue from there."""

from __future__ import annotations

from tildone.cli.opening import open_for_moving
from tildone.cli.output.screen import moment, put
from tildone.cli.output.summary import plan_summary
from tildone.cli.parsing.table import ParsedArgs
from tildone.log.refs import ROOT, SHORT_ID_LENGTH, resolve
from tildone.views.sanitize import printable


def run(args: ParsedArgs) -> int:
    """Move the head, and print how to return."""
    session = open_for_moving(args)
    left = session.store.session_head(session.name).head
    event_id = resolve(session.store, session.name, args.positional[0])
    if event_id == left:
        put("Already there.")
        put(plan_summary(session.plan))
        return 0
    plan = session.checkout(event_id)
    if event_id is None:
        put("Moved to before the first change.")
    else:
        event = next(session.store.history(session.name, event_id))
        put(f"Moved to {printable(event_id[:SHORT_ID_LENGTH])}, {moment(event.at)}.")
    put(plan_summary(plan))
    put(f"To return: tildone checkout {ROOT if left is None else printable(left)}")
    return 0
