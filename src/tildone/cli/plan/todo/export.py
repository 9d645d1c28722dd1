"""`tildone todo export`: write the plan to a file as Markdown."""

from __future__ import annotations

import os

from tildone.cli.opening import open_for_reading, settings_for
from tildone.cli.output.screen import on_terminal, put_raw
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.applying import apply_answer
from tildone.cli.plan.hints import BEGIN
from tildone.cli.plan.todo.import_file import STREAM, read_text
from tildone.commands.answer import Answer, WriteFile
from tildone.commands.requests import FILE, after_request, export, request_failed
from tildone.errors import Refused
from tildone.files.boundary import real_path_inside
from tildone.files.private import REPLACED, open_shared
from tildone.formats.markdown.reader import read
from tildone.formats.markdown.writer import lossless_checklist


def run(args: ParsedArgs) -> int:
    """Write the plan to a file, or to standard output."""
    session = open_for_reading(args)
    answer = export(session.plan, args.positional[0] if args.positional else FILE, BEGIN, unnamed="")
    match answer.request:
        case WriteFile(path) if path == STREAM:
            put_raw(lossless_checklist(session.plan, escaped=not on_terminal()).removesuffix("\n"))
            return 0
        case WriteFile() as request:
            if not args.positional:
                real_path_inside(settings_for(args).project, FILE)
            return apply_answer(args, session, _written(request, force=args.has("force")))
        case _:
            return apply_answer(args, session, answer)


def _written(request: WriteFile, *, force: bool) -> Answer:
    try:
        if not force:
            _check_overwrite(request.path)
        with os.fdopen(open_shared(request.path, REPLACED), "wb") as file:
            file.write(request.text.encode())
    except OSError as error:
        return request_failed(request, error.strerror or str(error))
    return after_request(request)


def _check_overwrite(path: str) -> None:
    """Check that overwriting a file loses nothing but a checklist.

    Raises:
        Refused: the file has content that no export wrote.
    """
    try:
        is_checklist = not read(read_text(path)).problems
    except FileNotFoundError:
        return
    except UnicodeDecodeError:
        is_checklist = False
    if not is_checklist:
        raise Refused(f"{path} contains more than a checklist; to overwrite it, use --force")
