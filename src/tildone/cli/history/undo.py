"""`tildone undo`: undo the newest changes of the plan."""

from __future__ import annotations

from tildone.cli.history.undo_redo import number_of_changes, report
from tildone.cli.opening import open_for_moving
from tildone.cli.parsing.table import ParsedArgs


def run(args: ParsedArgs) -> int:
    """Undo the newest changes, whoever made them."""
    count = number_of_changes(args)
    session = open_for_moving(args)
    return report(args, session, session.undo(count), "Undid", backwards=True)
