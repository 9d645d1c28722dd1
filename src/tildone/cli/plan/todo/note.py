"""`tildone todo note`: add a note to a task."""

from __future__ import annotations

from tildone.cli.opening import open_for_editing
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.applying import COMMAND, apply_answer
from tildone.commands import verbs


def run(args: ParsedArgs) -> int:
    """Add a note to a task."""
    session = open_for_editing(args)
    task, *text = args.positional
    return apply_answer(session, verbs.note(session.plan, task, " ".join(text), invocation=COMMAND, numbered=True))
