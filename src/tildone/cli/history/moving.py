"""`tildone undo`, `redo` and `checkout`: move in the history of the plan."""

from __future__ import annotations

from tildone.app import moves
from tildone.base import TYPE_CHECKING, UsageError
from tildone.base.ids import local_time
from tildone.cli.opening import open_for_moving, shows_positions
from tildone.cli.output import put
from tildone.cli.output.prompts import plan_summary
from tildone.cli.table import ParsedArgs, command
from tildone.plan.history.refs import ROOT, resolve
from tildone.plan.text.safe import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.log.session import Session

MAX_DIGITS = 9


def undo(args: ParsedArgs) -> int:
    return _moved(args, "Undid", moves.undo)


def redo(args: ParsedArgs) -> int:
    return _moved(args, "Redid", moves.redo)


def checkout(args: ParsedArgs) -> int:
    session = open_for_moving(args)
    left = session.store.session_head(session.name).head
    event_id = resolve(session.store, session.name, args.positional[0])
    if event_id == left:
        put("Already there.")
        put(plan_summary(session.plan))
        return 0
    plan = moves.restore(session, event_id).outcome.after
    if event_id is None:
        put("Moved to before the first change.")
    else:
        event = next(session.store.history(session.name, event_id))
        put(f"Moved to {moves.short_id(event_id)}, {local_time(event.at)}.")
    put(plan_summary(plan))
    put(f"To return: tildone checkout {ROOT if left is None else printable(left)}")
    return 0


def _moved(args: ParsedArgs, done: str, move: Callable[[Session, int], moves.Moved]) -> int:
    """Undo or redo; print the changes and the state of the plan, or the plan as JSON."""
    count = _number_of_changes(args)
    session = open_for_moving(args)
    moved = move(session, count)
    if args.has("json"):
        # Only --json needs them.
        from tildone.app.look import change_data
        from tildone.cli.output.prompts import put_data

        put_data(**change_data(moved.outcome, session.name, positions=shows_positions(args, session)))
        return 0
    number = "" if count == 1 else f" {count} changes"
    put(f"{done}{number}: {'; '.join(moved.sentences()) or 'nothing visible'}")
    put(plan_summary(moved.outcome.after))
    return 0


def _number_of_changes(args: ParsedArgs) -> int:
    if not args.positional:
        return 1
    given = args.positional[0]
    if not given.isdecimal() or len(given) > MAX_DIGITS or int(given) == 0:
        raise UsageError(f"{command(args.path)} requires a positive number of changes, not {given!r}")
    return int(given)
