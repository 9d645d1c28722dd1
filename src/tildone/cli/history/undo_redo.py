"""What `tildone undo` and `tildone redo` share: their argument and their output."""

from __future__ import annotations

from tildone.cli.opening import shows_positions
from tildone.cli.output.screen import put
from tildone.cli.output.summary import plan_summary
from tildone.cli.parsing.table import ParsedArgs, command
from tildone.errors import UsageError
from tildone.history.changes import changes
from tildone.history.sentences import change_sentences
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.core.reduce import Outcome
    from tildone.session import Session

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


def report(args: ParsedArgs, session: Session, outcome: Outcome, done: str, *, backwards: bool) -> int:
    """Print the changes that were redone or, `backwards`, undone, and the state of the plan; or the plan as JSON."""
    if args.has("json"):
        # Only --json needs them.
        from tildone.app.look import change_data  # noqa: PLC0415  see above
        from tildone.cli.output.data import put_data  # noqa: PLC0415  see above

        put_data(**change_data(outcome, session.name, positions=shows_positions(args, session)))
        return 0
    count = number_of_changes(args)
    before, after = (outcome.after, outcome.before) if backwards else (outcome.before, outcome.after)
    what = change_sentences(changes(before, after)) or ["nothing visible"]
    number = "" if count == 1 else f" {count} changes"
    put(f"{done}{number}: {'; '.join(what)}")
    put(plan_summary(outcome.after))
    return 0
