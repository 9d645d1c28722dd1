"""The verbs of `tildone todo` that change tasks: each makes its words into a command, and has it carried out."""

from __future__ import annotations

import sys

from tildone.app import commands
from tildone.app.commands import Place, phases_like
from tildone.base import TYPE_CHECKING
from tildone.base.errors import UsageError
from tildone.cli.opening import open_for_editing, shows_positions
from tildone.cli.output import put
from tildone.cli.plan.applying import apply_answer, confirmed, words
from tildone.cli.plan.hints import command_hint
from tildone.cli.table import ParsedArgs, command
from tildone.plan.model import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tildone.app.commands import Answer
    from tildone.plan.model import Plan

STDIN = "-"
APPEND = "tildone todo append"


def add(args: ParsedArgs) -> int:
    """Add each argument as a task, with its text as it was typed."""
    texts = [text for arg in args.positional for text in (_lines() if arg == STDIN else [arg])]
    session = open_for_editing(args)
    code = apply_answer(args, session, commands.add(session.plan, texts, args.options.get("phase")))
    if len(args.positional) > 1 and not any(" " in text for text in texts) and not args.has("json"):
        one = " ".join(args.positional)
        put(f'Each argument is a task. If you meant one: {command_hint(args, "undo")}, then quote it: "{one}"')
    return code


def append(args: ParsedArgs) -> int:
    """Add tasks. The shell has split the words, so each argument is a task, or the phase if it is the first."""
    first, *others = args.positional
    if len(others) > 1 and any(" " not in text for text in others):
        raise UsageError(
            f'which words form one task? Quote each task: {APPEND} "{" ".join(args.positional)}", '
            f'or with a phase: {APPEND} {first} "{" ".join(others)}"'
        )
    session = open_for_editing(args)
    phase = None
    if others:
        like = phases_like(session.plan, first)
        phase = like[0].name if len(like) == 1 else first
    return apply_answer(args, session, commands.add(session.plan, others or [first], phase))


def start(args: ParsedArgs) -> int:
    """Mark a task as in progress."""
    return _change(args, words(args), commands.start)


def unblock(args: ParsedArgs) -> int:
    """Mark a blocked task as pending."""
    return _change(args, words(args), commands.unblock)


def reopen(args: ParsedArgs) -> int:
    """Mark a closed task as pending."""
    return _change(args, words(args), commands.reopen)


def block(args: ParsedArgs) -> int:
    """Mark a task as waiting for someone else."""
    task, *text = words(args)
    return _change(args, [task], commands.block, " ".join(text))


def rename(args: ParsedArgs) -> int:
    """Change the text of a task."""
    task, *text = words(args)
    return _change(args, [task], commands.rename, " ".join(text))


def note(args: ParsedArgs) -> int:
    """Add a note to a task."""
    task, *text = words(args)
    return _change(args, [task], commands.note, " ".join(text))


def move(args: ParsedArgs) -> int:
    """Move a task to the place that an option names."""
    given = [place for place in Place if args.has(place.value)]
    if len(given) != 1:
        raise UsageError(
            f"where to? {command(args.path)} requires one of {', '.join(f'--{place.value}' for place in Place)}"
        )
    return _change(args, words(args), commands.move, given[0], args.options[given[0].value])


def done(args: ParsedArgs) -> int:
    """Mark the tasks that the arguments name as completed; without arguments, all open ones."""
    return _close(args, Status.COMPLETED, commands.close, Status.COMPLETED)


def drop(args: ParsedArgs) -> int:
    """Mark the tasks that the arguments name as abandoned; without arguments, all open ones."""
    return _close(args, Status.ABANDONED, commands.close, Status.ABANDONED)


def rm(args: ParsedArgs) -> int:
    """Remove the tasks that the arguments name; without arguments, all of them."""
    return _close(args, None, commands.remove)


def _change(args: ParsedArgs, named: Sequence[str], make: Callable[..., Answer], *more: object) -> int:
    session = open_for_editing(args)
    return apply_answer(args, session, make(session.plan, named, *more, positions=shows_positions(args, session)))


def _close(args: ParsedArgs, to: Status | None, make: Callable[..., Answer], *more: object) -> int:
    """Close or remove tasks. Without arguments, all of them are meant, once that is confirmed."""
    named = words(args)
    if named and args.has("all"):
        raise UsageError(f"--all means all tasks; leave out {' '.join(named)!r}")

    def closed(plan: Plan, named: Sequence[str], *more: object, positions: bool) -> Answer:
        answer = make(plan, named, *more, positions=positions)
        question = commands.closing_question(plan, to)
        is_declined = not named and question and not confirmed(args, question)
        return commands.unchanged("not confirmed") if is_declined else answer

    return _change(args, named, closed, *more)


def _lines() -> list[str]:
    """The lines of standard input; empty lines are skipped.

    Raises:
        UsageError: it is not UTF-8 text, or has no line.
    """
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError("standard input is not UTF-8 text") from error
    found = [line for each in text.split("\n") if (line := each.removesuffix("\r")).strip()]
    if not found:
        raise UsageError("standard input has no tasks")
    return found
