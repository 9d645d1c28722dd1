"""`tildone todo add`: add tasks."""

from __future__ import annotations

import sys

from tildone.cli.opening import open_for_editing
from tildone.cli.output.screen import put
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.applying import apply_answer
from tildone.cli.plan.hints import command_hint
from tildone.commands import edits
from tildone.errors import UsageError

STDIN = "-"


def run(args: ParsedArgs) -> int:
    """Add each argument as a task, with its text as it was typed."""
    texts = [text for arg in args.positional for text in (_lines() if arg == STDIN else [arg])]
    session = open_for_editing(args)
    code = apply_answer(args, session, edits.add(session.plan, texts, args.options.get("phase")))
    if len(args.positional) > 1 and not any(" " in text for text in texts) and not args.has("json"):
        one = " ".join(args.positional)
        put(f'Each argument is a task. If you meant one: {command_hint(args, "undo")}, then quote it: "{one}"')
    return code


def _lines() -> list[str]:
    """The lines of standard input; empty lines are skipped.

    Raises:
        UsageError: it is not UTF-8 text, or has no line.
    """
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError("standard input is not UTF-8 text") from error
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    found = [line for line in lines if line.strip()]
    if not found:
        raise UsageError("standard input has no tasks")
    return found
