"""`tildone todo start`: mark a task as in progress."""

from __future__ import annotations

from tildone.cli.opening import open_for_editing
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.applying import COMMAND, apply_answer, query
from tildone.commands import verbs


def run(args: ParsedArgs) -> int:
    """Mark a task as in progress."""
    session = open_for_editing(args)
    return apply_answer(session, verbs.start(session.plan, query(args), invocation=COMMAND, numbered=True))
