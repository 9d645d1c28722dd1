"""The verbs of `tildone todo` that change tasks: each makes its words into a command, and has it carried out."""

from __future__ import annotations

from tildone.app import commands
from tildone.app.commands import Place, phases_like
from tildone.base import TYPE_CHECKING, UsageError
from tildone.base.files import STREAM
from tildone.cli.opening import command_hint, open_for_editing, shows_positions
from tildone.cli.output import put
from tildone.cli.output.prompts import standard_input
from tildone.cli.plan.applying import apply_answer, confirmed, words
from tildone.cli.table import ParsedArgs, command
from tildone.plan.model import WORD_FIELDS, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tildone.app.commands import Answer
    from tildone.plan.model import Plan


APPEND = "tildone todo append"


def add(args: ParsedArgs) -> int:
    texts = [text for arg in args.positional for text in (_lines() if arg == STREAM else [arg])]
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


def mark(args: ParsedArgs) -> int:
    """Start, unblock or reopen a task; all arguments are its name."""
    makes = {"start": commands.start, "unblock": commands.unblock, "reopen": commands.reopen}
    return _change(args, words(args), makes[args.verb.name])


start = unblock = reopen = mark


def write(args: ParsedArgs) -> int:
    """Block or rename a task, or add a note to it: the first argument names it, the others are the text."""
    makes = {"block": commands.block, "rename": commands.rename, "note": commands.note}
    task, *text = words(args)
    return _change(args, [task], makes[args.verb.name], " ".join(text))


block = rename = note = write


def move(args: ParsedArgs) -> int:
    given = [place for place in Place if args.has(place.value)]
    if len(given) != 1:
        raise UsageError(
            f"where to? {command(args.path)} requires one of {', '.join(f'--{place.value}' for place in Place)}"
        )
    return _change(args, words(args), commands.move, given[0], args.options[given[0].value])


def _change(args: ParsedArgs, named: Sequence[str], make: Callable[..., Answer], *more: object) -> int:
    session = open_for_editing(args)
    return apply_answer(args, session, make(session.plan, named, *more, positions=shows_positions(args, session)))


def close(args: ParsedArgs) -> int:
    """Complete, abandon or remove tasks. Without arguments, all (open) ones are meant, once that is confirmed."""
    named, to = words(args), {"done": Status.COMPLETED, "drop": Status.ABANDONED}.get(args.verb.name)
    if named and args.has("all"):
        raise UsageError(f"--all means all tasks; leave out {' '.join(named)!r}")

    def closed(plan: Plan, named: Sequence[str], *, positions: bool) -> Answer:
        if to is None:
            answer = commands.remove(plan, named, positions=positions)
        else:
            answer = commands.close(plan, named, to, positions=positions)
        question = commands.closing_question(plan, to)
        is_declined = not named and question and not confirmed(args, question)
        return commands.unchanged("not confirmed") if is_declined else answer

    return _change(args, named, closed)


done = drop = rm = close


def undo(args: ParsedArgs) -> int:
    # Late, because the other verbs do not move in the history.
    from tildone.cli.history.moving import undo as run

    return run(args)


def _lines() -> list[str]:
    """The lines of standard input; empty lines are skipped."""
    found = [line for each in standard_input().split("\n") if (line := each.removesuffix("\r")).strip()]
    if not found:
        raise UsageError("standard input has no tasks")
    return found


def after(args: ParsedArgs) -> int:
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
