"""`tildone todo block`: mark a task as waiting for someone else."""

from __future__ import annotations

from tildone.cli.opening import open_for_editing, shows_positions
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.applying import apply_answer, words
from tildone.commands import edits


def run(args: ParsedArgs) -> int:
    """Mark a task as waiting for someone else."""
    task, *text = words(args)
    session = open_for_editing(args)
    answer = edits.block(session.plan, [task], " ".join(text), positions=shows_positions(args, session))
    return apply_answer(args, session, answer)
