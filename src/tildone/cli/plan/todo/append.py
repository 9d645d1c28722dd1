"""`tildone todo append`: add tasks."""

from __future__ import annotations

from tildone.cli.opening import open_for_editing
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.applying import COMMAND, apply_answer
from tildone.commands import verbs
from tildone.errors import UsageError


def run(args: ParsedArgs) -> int:
    """Add tasks. The shell has split the words, so each argument is a task, or the phase if it is the first."""
    first, *others = args.positional
    if len(others) > 1 and any(" " not in text for text in others):
        raise UsageError(
            f'which words form one task? Quote each task: {COMMAND} append "{" ".join(args.positional)}", '
            f'or with a phase: {COMMAND} append {first} "{" ".join(others)}"'
        )
    session = open_for_editing(args)
    phase, texts = (first, others) if others else (None, [first])
    return apply_answer(session, verbs.append(session.plan, phase, texts, invocation=COMMAND))
