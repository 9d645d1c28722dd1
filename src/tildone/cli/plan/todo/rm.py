"""`tildone todo rm`: remove a task, the tasks of a phase, or all tasks."""

from __future__ import annotations

from tildone.cli.opening import open_for_editing
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.applying import apply_answer, query
from tildone.commands import verbs


def run(args: ParsedArgs) -> int:
    """Remove the tasks."""
    session = open_for_editing(args)
    return apply_answer(session, verbs.remove(session.plan, query(args), numbered=True))
