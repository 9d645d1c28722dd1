"""What `tildone undo` and `tildone redo` share: their argument and their output."""

from __future__ import annotations

from tildone.cli.output.screen import put
from tildone.cli.output.summary import plan_summary
from tildone.cli.parsing.table import ParsedArgs, command
from tildone.errors import UsageError
from tildone.history.changes import changes
from tildone.history.sentences import change_sentences
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.core.plan import Plan

MAX_DIGITS = 9


def number_of_changes(args: ParsedArgs) -> int:
    """How many changes to undo or redo.

    Raises:
        UsageError: the argument is not a positive number.
    """
    if not args.positional:
        return 1
    given = args.positional[0]
    if not given.isdecimal() or len(given) > MAX_DIGITS or int(given) == 0:
        raise UsageError(f"{command(args.path)} requires a positive number of changes, not {given!r}")
    return int(given)


def report(done: str, count: int, before: Plan, after: Plan, *, now: Plan) -> int:
    """Print the changes between two plans, and the state of the plan `now`."""
    what = change_sentences(changes(before, after)) or ["nothing visible"]
    number = "" if count == 1 else f" {count} changes"
    put(f"{done}{number}: {'; '.join(what)}")
    put(plan_summary(now))
    return 0
