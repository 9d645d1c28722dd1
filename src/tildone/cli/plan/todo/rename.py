"""`tildone todo rename`: change the text of a task."""

from __future__ import annotations

from tildone.cli.opening import open_for_editing, shows_positions
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.applying import apply_answer, words
from tildone.commands import edits


def run(args: ParsedArgs) -> int:
    """Change the text of a task."""
    task, *text = words(args)
    session = open_for_editing(args)
    answer = edits.rename(session.plan, [task], " ".join(text), positions=shows_positions(args, session))
    return apply_answer(args, session, answer)
