"""What verbs print and ask in the same way: JSON, questions, warnings, what was left out, the state of the plan."""

from __future__ import annotations

import os
import select
import sys

from tildone.base import TYPE_CHECKING, StoreDamaged, UsageError
from tildone.cli.output import on_terminal, put, put_json, put_notice
from tildone.plan import codec
from tildone.plan.guard import is_unproved
from tildone.plan.model import Status, next_task, progress
from tildone.plan.text.safe import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tildone.app.settings import Settings
    from tildone.app.who import PersonAct
    from tildone.cli.table import ParsedArgs
    from tildone.plan.formats import ConversionWarning
    from tildone.plan.model import Plan


VERSION = 1
"""The version of every shape. Fields may be added to a shape; a field that changes or goes away needs a new version."""


def put_data(**fields: object) -> None:
    """Print one JSON object on one line: the version, then the fields."""
    put_json(codec.dump({"version": VERSION, **fields}))


def put_done(args: ParsedArgs, text: str, **fields: object) -> int:
    """Print the sentence for a person or, with `--json`, the fields. Return the exit code of a success."""
    if args.has("json"):
        put_data(**fields)
    else:
        put(text)
    return 0


MAX_NAMED = 10


def exit_code_for(left_out: Sequence[str]) -> int:
    """Name what was left out on standard error, and return the exit code."""
    if not left_out:
        return 0
    for what in left_out[:MAX_NAMED]:
        put_notice(f"tildone: left out: {printable(what)}")
    if len(left_out) > MAX_NAMED:
        put_notice(f"tildone: left out: {len(left_out) - MAX_NAMED:,} more")
    put_notice("tildone: to check the store: tildone doctor")
    return StoreDamaged.exit_code


def standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError("standard input is not UTF-8 text") from error


def read_line(prompt: str) -> str:
    """The line that the person types, empty at the end of the input. `input` could miss a Ctrl-C before its read."""
    print(prompt, end="", file=sys.stderr, flush=True)
    while os.name == "posix" and not select.select([sys.stdin], [], [], 0.1)[0]:
        pass
    return sys.stdin.readline()


def confirm(question: str) -> bool:
    """Whether the person answers yes; any other answer is a no."""
    return read_line(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def person_agrees(args: ParsedArgs, settings: Settings, act: PersonAct, question: str) -> bool:
    """Return whether the person agrees: with `--yes`, or by their answer to the question."""
    # Late, because few verbs ask it.
    from tildone.app.who import check_person

    check_person(settings, act)
    if args.has("yes"):
        return True
    if args.has("json") or not on_terminal() or not sys.stdin.isatty():
        raise UsageError("confirmation requires a terminal; use --yes to skip it")
    return confirm(question)


def plan_summary(plan: Plan) -> str:
    counts = progress(plan)
    if not counts.total:
        return "The plan is now empty."
    upcoming = next_task(plan)
    if upcoming is None:
        rest = "nothing is left to do" if counts.finished else "what is left is blocked"
        if is_unproved(plan):
            rest = "the check of the plan has not passed"
        return f"{counts.closed} of {counts.total} closed: {rest}."
    task = upcoming[1]
    word = "In progress" if task.status is Status.IN_PROGRESS else "Next"
    return f"{counts.closed} of {counts.total} closed. {word}: #{task.number} {printable(task.text)}"


MAX_LISTED = 5


def print_warnings(title: str, warnings: Sequence[ConversionWarning], *, verbose: bool) -> None:
    """Print the warnings on standard error under a title; only the first few unless `verbose`."""
    if not warnings:
        return
    put_notice(f"{printable(title)}:")
    for warning in warnings if verbose else warnings[:MAX_LISTED]:
        put_notice(f"  {printable(warning.text() if verbose else str(warning))}")
    more = len(warnings) - MAX_LISTED
    if more > 0 and not verbose:
        put_notice(f"  and {more} more (use --verbose to list all)")


def tell_reach(source: str, patterns: Iterable[str], tell: Callable[[str], object] = put_notice) -> None:
    """Tell a line for each pattern that allows more than it looks like. `source` is the option or setting.

    That `*` allows everything is said only at a terminal: a script that gives it was written by someone who knows.
    """
    given = [pattern for pattern in dict.fromkeys(patterns) if pattern != "*" or on_terminal(sys.stderr)]
    if not given:
        return
    # Late, because few commands give patterns.
    from tildone.plan.shell.danger import told

    for line in filter(None, (told(source, pattern) for pattern in given)):
        tell(f"tildone: {printable(line)}")
