"""`tildone todo export`, `import`, `copy` and `edit`: the plan as Markdown outside of the store."""

import os
import signal
import sys
import tempfile

from tildone.app.commands import Answer, CopyText, OpenEditor, ReadFile, WriteFile, as_edited, written_plan
from tildone.app.slash import FILE, after_request, draft, export, request_failed
from tildone.base import Refused, TildoneError, UsageError
from tildone.base.desktop import copy_to_clipboard, editor_command, run_editor, terminal_copy
from tildone.base.files import STREAM
from tildone.base.private import REPLACED, open_shared, real_path_inside
from tildone.cli.opening import BEGIN, open_for_editing, open_for_reading, settings_for
from tildone.cli.output import on_terminal, put, put_notice, put_raw
from tildone.cli.output.prompts import read_line
from tildone.cli.plan.applying import apply_answer
from tildone.cli.plan.check_progress import put_warnings, session_checks
from tildone.cli.table import ParsedArgs
from tildone.log.session import Session
from tildone.plan.events import Actor
from tildone.plan.formats.markdown import lossless_checklist
from tildone.plan.formats.markdown_reader import read_checklist
from tildone.plan.model import Check, Plan


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
    if path == STREAM:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    with open(path, "rb") as file:
        return file.read().decode("utf-8-sig")


def copy_plan(args: ParsedArgs) -> int:
    session = open_for_reading(args)
    if not session.plan.tasks:
        raise Refused(f"there is no plan to copy; {BEGIN}")
    request = CopyText(lossless_checklist(session.plan))
    if copy_to_clipboard(request.text):
        return apply_answer(args, session, after_request(request))
    if on_terminal():
        put(f"{terminal_copy(request.text)}Sent the plan to your terminal's clipboard")
        return 0
    put_raw(lossless_checklist(session.plan, escaped=True).removesuffix("\n"))
    put_notice("tildone: no clipboard is available; the plan was printed instead")
    return 0


def edit_plan(args: ParsedArgs) -> int:
    if not editor_command():
        raise UsageError("no editor is configured; set $VISUAL or $EDITOR, or use tildone todo export and import")
    session = open_for_editing(args)
    plan = session.plan
    request = OpenEditor(draft(plan, unnamed=""))
    path = _write(request.text)
    try:
        code = _edited(args, session, plan, request, path)
    except TildoneError as error:
        if _read(path) == request.text.encode():
            os.remove(path)
            raise
        hint = f"Your text is kept in {path}; to use it: tildone todo import {path}"
        raise type(error)(f"{error}\n{hint}") from error
    os.remove(path)
    return code


def _edited(args: ParsedArgs, session: Session, plan: Plan, request: OpenEditor, path: str) -> int:
    while True:
        why = _run(path)
        if why:
            return apply_answer(args, session, request_failed(request, why))
        saved = _read(path)
        if saved == request.text.encode():
            return apply_answer(args, session, Answer(steps=()))
        answer = _answer(request, saved)
        if answer.failure and _wants_again(answer):
            continue
        if session.plan != plan:
            raise Refused("the plan has changed while you edited it")
        _approve_checks(args, session, plan, written_plan(answer))
        return apply_answer(args, session, as_edited(plan, answer))


def _approve_checks(args: ParsedArgs, session: Session, before: Plan, after: Plan | None) -> None:
    """Approve the checks that the person wrote. Those that an agent's shell wrote are only proposed."""
    new = [] if after is None else [check for check in _checks(after) if check not in _checks(before)]
    if not new or session.author_of(Actor.USER).agent:
        return

    with session_checks(args, session) as checks:
        put_warnings(checks.record_approvals(session, new))


def _checks(plan: Plan) -> list[Check]:
    return [check for check in (plan.check, *(task.check for task in plan.tasks)) if check is not None]


def _run(path: str) -> str:
    """Run the editor until it exits, and return why it failed; empty if it has not."""
    # Ctrl-C is for the editor meanwhile. A handler, unlike an ignored signal, is not inherited by it.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return run_editor(path)
    finally:
        signal.signal(signal.SIGINT, before)


def _wants_again(answer: Answer) -> bool:
    if not sys.stdin.isatty():
        return False
    for message in answer.messages:
        print(message.text, file=sys.stderr)
    try:
        return bool(read_line("Press Enter to edit it again, Ctrl-C to cancel: "))
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return False


def _answer(request: OpenEditor, saved: bytes) -> Answer:
    try:
        return after_request(request, saved.decode("utf-8-sig"), unnamed="")
    except UnicodeDecodeError:
        return request_failed(request, "what you saved is not UTF-8 text")


def _write(text: str) -> str:
    handle, path = tempfile.mkstemp(prefix="tildone-", suffix=".todo.md")
    with os.fdopen(handle, "wb") as file:
        file.write(text.encode())
    return path


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
