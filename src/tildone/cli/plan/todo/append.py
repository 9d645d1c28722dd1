"""`tildone todo append`: `add` with the phase as the first of several arguments."""

from __future__ import annotations

from tildone.cli.opening import open_for_editing
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.applying import apply_answer
from tildone.commands import edits
from tildone.commands.typed import phases_like
from tildone.errors import UsageError

COMMAND = "tildone todo append"


def run(args: ParsedArgs) -> int:
    """Add tasks. The shell has split the words, so each argument is a task, or the phase if it is the first."""
    first, *others = args.positional
    if len(others) > 1 and any(" " not in text for text in others):
        raise UsageError(
            f'which words form one task? Quote each task: {COMMAND} "{" ".join(args.positional)}", '
            f'or with a phase: {COMMAND} {first} "{" ".join(others)}"'
        )
    session = open_for_editing(args)
    phase = None
    if others:
        like = phases_like(session.plan, first)
        phase = like[0].name if len(like) == 1 else first
    return apply_answer(args, session, edits.add(session.plan, others or [first], phase))
