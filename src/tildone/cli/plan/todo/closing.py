"""What `tildone todo done` and `tildone todo drop` share."""

from __future__ import annotations

from tildone.cli.opening import open_for_editing, shows_positions
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.applying import apply_answer, confirmed, words
from tildone.commands import edits
from tildone.core.plan import Status
from tildone.errors import UsageError


def close(args: ParsedArgs, to: Status) -> int:
    """Mark the tasks that the arguments name; without arguments, all open ones, once that is confirmed."""
    named = words(args)
    check_all(args, named)
    session = open_for_editing(args)
    answer = edits.close(session.plan, named, to, positions=shows_positions(args, session))
    question = edits.closing_question(session.plan, to)
    if not named and question and not confirmed(args, question):
        answer = edits.unchanged("not confirmed")
    return apply_answer(args, session, answer)


def check_all(args: ParsedArgs, named: tuple[str, ...]) -> None:
    """Check that --all was not given together with a task.

    Raises:
        UsageError: it was.
    """
    if named and args.has("all"):
        raise UsageError(f"--all means all tasks; leave out {' '.join(named)!r}")
