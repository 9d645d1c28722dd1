"""The plan as Markdown outside of the store: `tildone todo export`, `import` and `copy`."""

from __future__ import annotations

import os
import sys
from base64 import b64encode

from tildone.app.commands import Answer, CopyText, ReadFile, WriteFile
from tildone.app.slash import FILE, after_request, export, request_failed
from tildone.base import Refused
from tildone.base.private import REPLACED, open_shared, real_path_inside
from tildone.cli.opening import open_for_editing, open_for_reading, settings_for
from tildone.cli.output import on_terminal, put, put_notice, put_raw
from tildone.cli.plan.applying import apply_answer
from tildone.cli.plan.hints import BEGIN
from tildone.cli.table import ParsedArgs
from tildone.plan.events import Actor
from tildone.plan.formats.markdown import lossless_checklist
from tildone.plan.formats.markdown_reader import read_checklist

STREAM = "-"


def export_plan(args: ParsedArgs) -> int:
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
    """Check that overwriting a file loses nothing but a checklist."""
    try:
        is_checklist = not read_checklist(read_text(path)).problems
    except FileNotFoundError:
        return
    except UnicodeDecodeError:
        is_checklist = False
    if not is_checklist:
        raise Refused(f"{path} contains more than a checklist; to overwrite it, use --force")


def import_plan(args: ParsedArgs) -> int:
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
    if not answer.failure and session.plan.tasks and not args.has("force") and not read_checklist(text).plan.tasks:
        raise Refused(f"{request.path} contains no tasks; to empty the plan, use --force or: tildone todo rm --all")
    return apply_answer(args, session, answer, Actor.IMPORT)


def read_text(path: str) -> str:
    """The text of a file, or of standard input."""
    if path == STREAM:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    with open(path, "rb") as file:
        return file.read().decode("utf-8-sig")


def copy_plan(args: ParsedArgs) -> int:
    session = open_for_reading(args)
    if not session.plan.tasks:
        raise Refused(f"there is no plan to copy; {BEGIN}")
    request = CopyText(lossless_checklist(session.plan))
    # Late, because only this verb starts other programs.
    from tildone.run.extensions.presence import copy_to_clipboard  # noqa: PLC0415  see above

    if copy_to_clipboard(request.text):
        return apply_answer(args, session, after_request(request))
    if on_terminal():
        # OSC 52: the terminal copies it, over SSH as well, and does not confirm it.
        put(f"\x1b]52;c;{b64encode(request.text.encode()).decode()}\x07Sent the plan to your terminal's clipboard")
        return 0
    put_raw(lossless_checklist(session.plan, escaped=True).removesuffix("\n"))
    put_notice("tildone: no clipboard is available; the plan was printed instead")
    return 0
