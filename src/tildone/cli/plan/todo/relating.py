"""`tildone todo after` and `touches`: the order of tasks, and the files that they change."""

from __future__ import annotations

from tildone.app import commands
from tildone.base import UsageError
from tildone.cli.opening import open_for_editing, shows_positions
from tildone.cli.plan.applying import apply_answer, words
from tildone.cli.table import ParsedArgs, command
from tildone.plan.model import WORD_FIELDS


def after(args: ParsedArgs) -> int:
    """Set the tasks that a task comes after, in place of those before."""
    task, *others = words(args)
    if bool(others) is args.has("none"):
        raise UsageError(f"after which tasks? {command(args.path)} {task} OTHER…; for none: --none")
    session = open_for_editing(args)
    answer = commands.order(session.plan, task, others, positions=shows_positions(args, session))
    return apply_answer(args, session, answer)


def touches(args: ParsedArgs) -> int:
    """Set the field of a task that the verb is named after, in place of the words before."""
    field, (task, *given) = args.path[-1].name, words(args)
    if bool(given) is args.has("none"):
        facts = WORD_FIELDS[field]
        one = facts.words.removesuffix("s").upper()
        raise UsageError(f"which {facts.thing}? {command(args.path)} {task} {one}…; for none: --none")
    session = open_for_editing(args)
    answer = commands.set_words(session.plan, field, task, given, positions=shows_positions(args, session))
    return apply_answer(args, session, answer)
