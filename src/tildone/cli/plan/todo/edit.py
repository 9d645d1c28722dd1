"""`tildone todo edit`: edit the plan in the person's editor. Their text is kept whatever fails."""

from __future__ import annotations

import os
import signal
import sys
import tempfile

from tildone.app.commands import Answer, OpenEditor, as_edited, written_plan
from tildone.app.slash import after_request, draft, request_failed
from tildone.base import Refused, TildoneError, UsageError
from tildone.base.editor import editor_command, run_editor
from tildone.cli.opening import open_for_editing
from tildone.cli.output.prompts import read_line
from tildone.cli.plan.applying import apply_answer
from tildone.cli.plan.check_progress import put_warnings, session_checks
from tildone.cli.table import ParsedArgs
from tildone.log.session import Session
from tildone.plan.events import Actor
from tildone.plan.model import Check, Plan


def run(args: ParsedArgs) -> int:
    """Open the plan in an editor; a text that cannot be parsed can be edited again."""
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
