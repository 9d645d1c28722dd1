"""`tildone todo reopen`: mark a closed task as pending."""

from __future__ import annotations

from tildone.cli.opening import open_for_editing, shows_positions
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.applying import apply_answer, words
from tildone.commands import edits


def run(args: ParsedArgs) -> int:
    """Mark a closed task as pending."""
    session = open_for_editing(args)
    answer = edits.reopen(session.plan, words(args), positions=shows_positions(args, session))
    return apply_answer(args, session, answer)
