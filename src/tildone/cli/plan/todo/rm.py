"""`tildone todo rm`: remove tasks, the tasks of a phase, or all tasks."""

from __future__ import annotations

from tildone.cli.opening import open_for_editing, shows_positions
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.applying import apply_answer, confirmed, words
from tildone.cli.plan.todo.closing import check_all
from tildone.commands import edits


def run(args: ParsedArgs) -> int:
    """Remove the tasks that the arguments name; without arguments, all of them, once that is confirmed."""
    named = words(args)
    check_all(args, named)
    session = open_for_editing(args)
    answer = edits.remove(session.plan, named, positions=shows_positions(args, session))
    question = edits.closing_question(session.plan, None)
    if not named and question and not confirmed(args, question):
        answer = edits.unchanged("not confirmed")
    return apply_answer(args, session, answer)
