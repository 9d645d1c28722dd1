"""`tildone todo drop`: mark a task, a phase or the whole plan as abandoned."""

from __future__ import annotations

from tildone.cli.opening import open_for_editing
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.applying import apply_answer, query
from tildone.commands import verbs
from tildone.core.plan import Status


def run(args: ParsedArgs) -> int:
    """Mark the tasks as abandoned."""
    session = open_for_editing(args)
    return apply_answer(session, verbs.mark(session.plan, query(args), Status.ABANDONED, numbered=True))
