"""`tildone todo done`: mark a task, a phase or the whole plan as completed."""

from __future__ import annotations

from tildone.cli.opening import open_for_editing
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.applying import apply_answer, query
from tildone.commands import verbs
from tildone.core.plan import Status


def run(args: ParsedArgs) -> int:
    """Mark the tasks as completed."""
    session = open_for_editing(args)
    return apply_answer(session, verbs.mark(session.plan, query(args), Status.COMPLETED, numbered=True))
