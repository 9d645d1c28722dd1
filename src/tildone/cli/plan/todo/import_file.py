"""`tildone todo import`: replace the plan with the checklist in a Markdown file."""

from __future__ import annotations

import sys

from tildone.cli.opening import open_for_editing
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.applying import apply_answer
from tildone.commands.answer import ReadFile
from tildone.commands.requests import FILE, after_request, request_failed
from tildone.errors import Refused
from tildone.formats.markdown.reader import read
from tildone.log.events import Actor

STREAM = "-"


def run(args: ParsedArgs) -> int:
    """Replace the plan of the session with the plan in a file."""
    session = open_for_editing(args)
    path = args.positional[0] if args.positional else FILE
    request = ReadFile("standard input" if path == STREAM else path)
    try:
        text = read_text(path)
    except OSError as error:
        return apply_answer(args, session, request_failed(request, error.strerror or str(error)))
    except UnicodeDecodeError:
        return apply_answer(args, session, request_failed(request, "it is not UTF-8 text"))
    answer = after_request(request, text, unnamed="")
    if not answer.failure and session.plan.tasks and not args.has("force") and not read(text).plan.tasks:
        raise Refused(f"{request.path} contains no tasks; to empty the plan, use --force or: tildone todo rm --all")
    return apply_answer(args, session, answer, Actor.IMPORT)


def read_text(path: str) -> str:
    """The text of a file, or of standard input."""
    if path == STREAM:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    with open(path, "rb") as file:
        return file.read().decode("utf-8-sig")
