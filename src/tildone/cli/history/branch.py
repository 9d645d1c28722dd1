"""`tildone branch`: list the branches of the history, or label the current point."""

from __future__ import annotations

from tildone.cli.history.label import label_head
from tildone.cli.history.log import print_no_events
from tildone.cli.opening import open_for_reading
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import columns, put_spans
from tildone.cli.parsing.table import ParsedArgs
from tildone.errors import UsageError
from tildone.history.branch_lines import branch_lines
from tildone.history.branches import branches
from tildone.history.event_data import event_data
from tildone.ids import local_time, timestamp
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.history.branches import Branch


def run(args: ParsedArgs) -> int:
    """List the branches, or label the current point."""
    if args.positional:
        if args.has("json"):
            raise UsageError("tildone branch --json lists all branches; it takes no NAME")
        return label_head(args)
    session = open_for_reading(args)
    events = list(session.store.events(session.name))
    found = branches(events, session.store.session_head(session.name).head)
    if args.has("json"):
        put_data(session=session.name, branches=[_as_data(each) for each in found] if events else [])
    elif events:
        put_spans(branch_lines(found, [event.id for event in events], local_time, columns()))
    else:
        print_no_events(session)
    return 0


def _as_data(found: Branch) -> dict[str, object]:
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
