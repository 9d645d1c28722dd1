"""`tildone todo after`: say after which other tasks a task is worked on."""

from __future__ import annotations

from tildone.cli.opening import open_for_editing, shows_positions
from tildone.cli.parsing.table import ParsedArgs, command
from tildone.cli.plan.applying import apply_answer, words
from tildone.commands import attributes
from tildone.errors import UsageError


def run(args: ParsedArgs) -> int:
    """Set the tasks that a task comes after, in place of those before."""
    task, *others = words(args)
    if bool(others) is args.has("none"):
        raise UsageError(f"after which tasks? {command(args.path)} {task} OTHER…; for none: --none")
    session = open_for_editing(args)
    answer = attributes.order(session.plan, task, others, positions=shows_positions(args, session))
    return apply_answer(args, session, answer)
