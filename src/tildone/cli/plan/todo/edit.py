"""`tildone todo edit`: edit the plan in the person's editor. Their text is kept whatever fails."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile

from tildone.cli.opening import open_for_editing
from tildone.cli.output.prompts import read_line
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.applying import apply_answer
from tildone.commands.answer import Answer, OpenEditor
from tildone.commands.edits import renamed_in_place
from tildone.commands.requests import after_request, draft, request_failed
from tildone.core.ops import Write
from tildone.core.plan import Plan
from tildone.errors import Refused, TildoneError, UsageError
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from tildone.session import Session


def run(args: ParsedArgs) -> int:
    """Open the plan in an editor; a text that cannot be parsed can be edited again."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise UsageError("no editor is configured; set $VISUAL or $EDITOR, or use tildone todo export and import")
    session = open_for_editing(args)
    plan = session.plan
    request = OpenEditor(draft(plan))
    path = _write(request.text)
    try:
        code = _edited(args, session, plan, request, editor, path)
    except TildoneError as error:
        if _read(path) == request.text.encode():
            os.remove(path)
            raise
        hint = f"Your text is kept in {path}; to use it: tildone todo import {path}"
        raise type(error)(f"{error}\n{hint}") from error
    os.remove(path)
    return code


def _edited(args: ParsedArgs, session: Session, plan: Plan, request: OpenEditor, editor: str, path: str) -> int:
    while True:
        why = _run(editor, path)
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
        return apply_answer(args, session, _keeping_numbers(plan, answer))


def _keeping_numbers(plan: Plan, answer: Answer) -> Answer:
    """The answer, with tasks renamed first whose text was edited in place, so that they keep their numbers."""
    match answer.steps:
        case (Write(phases) as write,):
            return replace(answer, steps=(*renamed_in_place(plan, Plan(phases)), write))
        case _:
            return answer


def _run(editor: str, path: str) -> str | None:
    """Run the editor until it exits, and return the reason if it failed."""
    words = shlex.split(editor, posix=os.name == "posix")
    # Ctrl-C is for the editor meanwhile. A handler, unlike an ignored signal, is not inherited by it.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        code = subprocess.run([*words, path], check=False).returncode  # noqa: S603  the person's own command
    except OSError as error:
        return f"cannot run {words[0]}: {error.strerror}"
    finally:
        signal.signal(signal.SIGINT, before)
    return f"{words[0]} exited with code {code}" if code else None


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
    with open(handle, "wb") as file:
        file.write(text.encode())
    return path


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
