"""`tildone todo note`: add a note to a task."""

from __future__ import annotations

from tildone.cli.opening import open_for_editing, shows_positions
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.applying import apply_answer, words
from tildone.commands import edits


def run(args: ParsedArgs) -> int:
    """Add a note to a task."""
    task, *text = words(args)
    session = open_for_editing(args)
    answer = edits.note(session.plan, [task], " ".join(text), positions=shows_positions(args, session))
    return apply_answer(args, session, answer)
