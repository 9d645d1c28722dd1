"""`tildone todo export` and `import`: the plan to a file and back."""

from __future__ import annotations

import sys

from tildone.cli.opening import editing, reading
from tildone.cli.output.screen import put_raw
from tildone.cli.parsing.args import Typed
from tildone.cli.plan.applying import ME, carry_out
from tildone.commands.answer import Answer, ReadFile, WriteFile
from tildone.commands.verbs import FILE, failed, resumed
from tildone.commands.verbs import export as exported
from tildone.errors import Refused
from tildone.formats.markdown import read
from tildone.log.events import Actor

STREAM = "-"


def export(typed: Typed) -> int:
    """Write the plan to a file, or to standard output."""
    session = reading(typed)
    answer = exported(session.plan, typed.words[0] if typed.words else FILE, me=ME)
    match answer.request:
        case WriteFile(path, text) if path == STREAM:
            put_raw(text.removesuffix("\n"))
            return 0
        case WriteFile() as request:
            return carry_out(session, _written(request, force=typed.has("force")))
        case _:
            return carry_out(session, answer)


def import_(typed: Typed) -> int:
    """Put the plan in a file in place of the session's."""
    session = editing(typed)
    path = typed.words[0] if typed.words else FILE
    request = ReadFile("standard input" if path == STREAM else path)
    try:
        text = _read(path)
    except OSError as error:
        return carry_out(session, failed(request, error.strerror or str(error)))
    except UnicodeDecodeError:
        return carry_out(session, failed(request, "it is not UTF-8 text"))
    answer = resumed(request, text, unnamed="")
    if not answer.trouble and session.plan.tasks and not typed.has("force") and not read(text).plan.tasks:
        raise Refused(f"there is no task in {request.path}: to empty the plan, say --force or: tildone todo rm")
    return carry_out(session, answer, Actor.IMPORT)


def _written(request: WriteFile, *, force: bool) -> Answer:
    try:
        if not force:
            _spare(request.path)
        with open(request.path, "wb") as file:
            file.write(request.text.encode())
    except OSError as error:
        return failed(request, error.strerror or str(error))
    return resumed(request)


def _spare(path: str) -> None:
    """Keep what is not ours.

    Raises:
        Refused: the file holds something that no export wrote.
    """
    try:
        ours = not read(_read(path)).problems
    except FileNotFoundError:
        return
    except UnicodeDecodeError:
        ours = False
    if not ours:
        raise Refused(f"{path} holds more than a checklist; to replace it, say --force")


def _read(path: str) -> str:
    if path == STREAM:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    with open(path, "rb") as file:
        return file.read().decode("utf-8-sig")
