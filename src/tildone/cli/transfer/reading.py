"""Files that plans come in: which format each is in, and what it holds."""

from __future__ import annotations

import os
import re
import sys

from tildone.config import nearest
from tildone.errors import NotFound, Refused, TildoneError, UsageError
from tildone.formats import checklists, claude_tasks, todotxt
from tildone.formats.conversion import ConversionWarning, ImportedPlan
from tildone.log import archive, codec
from tildone.log.state import latest_state
from tildone.log.tree import branch, by_id
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tildone.core.plan import Plan
    from tildone.log.events import Event
    from tildone.log.tree import SessionHead

PI, CLAUDE, MARKDOWN, TODO_TXT, JSON = FORMS = ("pi", "claude", "markdown", "todo.txt", "json")
STREAM = "-"

_ENDINGS = {".jsonl": PI, ".md": MARKDOWN, ".markdown": MARKDOWN, ".mdown": MARKDOWN, ".txt": TODO_TXT, ".json": JSON}
_TODO_TXT_LINE = re.compile(r"^(?:x [0-9]{4}-[0-9]{2}-[0-9]{2} |\([A-Z]\) )", re.MULTILINE)
_TASK_FILE = re.compile(r"[0-9]+\.json")
_BOMS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@value
class FoundPlan:
    """A file that holds a plan, and what of the file is not in it."""

    path: str
    form: str
    plan: Plan
    said: tuple[ConversionWarning, ...] = ()


@value
class FoundHistory:
    """A file that holds a session with all its events, and what of the file is not among them."""

    path: str
    form: str
    session: str
    events: tuple[Event, ...]
    session_head: SessionHead
    said: tuple[ConversionWarning, ...] = ()

    @property
    def plan(self) -> Plan:
        """The plan where the session stands."""
        return latest_state(reversed(branch(by_id(self.events), self.session_head.head))).plan


Found = FoundPlan | FoundHistory


def checked(form: str | None) -> str | None:
    """A format that was named.

    Raises:
        UsageError: there is none of that name.
    """
    if form is not None and form not in FORMS:
        raise UsageError(f"there is no format {form!r}; {nearest(form, FORMS)}")
    return form


def ending_of(path: str) -> str | None:
    """The format that a file's name promises."""
    return _ENDINGS.get(os.path.splitext(path)[1].lower())


def shown(path: str) -> str:
    """A file as a sentence names it."""
    return "standard input" if path == STREAM else path


def find_all(paths: Sequence[str], form: str | None) -> list[Found]:
    """What the files hold; files of single tasks that lie in one folder are one list.

    Raises:
        TildoneError: one of them cannot be read.
    """
    single = [path for path in paths if form in (None, CLAUDE) and _is_task_file(path)]
    folders = {os.path.dirname(os.path.abspath(path)) for path in single}
    if len(single) == 1 or len(folders) != 1:
        return [find(path, form) for path in paths]
    others = [find(path, form) for path in paths if path not in single]
    return [_task_files(os.path.dirname(single[0]) or ".", single), *others]


def find(path: str, form: str | None) -> Found:
    """What a file or a folder holds; its format is found out unless it is named.

    Raises:
        NotFound: there is no such file.
        Refused: it does not hold what it should.
        UsageError: there is no telling in which format it is.
        TildoneError: it cannot be read.
    """
    if path != STREAM and os.path.isdir(path):
        if form not in (None, CLAUDE):
            raise Refused(f"{path} is a folder, and {form} comes in files")
        return _folder(path)
    raw = _bytes(path)
    if form == PI:
        return _pi(path, raw)
    text = _text(path, raw)
    form = form or _form_of(path, text)
    if form == PI:
        return _pi(path, raw)
    try:
        return _parsed(path, form, text)
    except (ValueError, RecursionError) as error:
        raise Refused(f"could not read {shown(path)} as {form}: {_why(error)}") from error


def _parsed(path: str, form: str, text: str) -> Found:
    match form:
        case "json":
            held = archive.read(text)
            said = (
                (ConversionWarning("the plan in it is not what its events lead to; the events count"),)
                if held.edited
                else ()
            )
            return FoundHistory(path, form, held.session, held.events, held.session_head, said)
        case "claude":
            data = codec.parse(text)
            taken = (
                claude_tasks.read_task_files([data])
                if claude_tasks.is_task_file(data)
                else claude_tasks.read_todo_list(data)
            )
        case "todo.txt":
            taken = todotxt.read(text)
        case _:
            taken = checklists.read(text)
    return FoundPlan(path, form, taken.plan, taken.said)


def _form_of(path: str, text: str) -> str:
    """The format that a text is in, by what it holds and then by its file's name."""
    content = text.lstrip()
    if content.startswith(("{", "[")):
        form = PI if _begins_a_session(content) else _form_of_json(content)
        if form:
            return form
    promised = ending_of(path)
    if promised == JSON:
        raise Refused(f"could not read {path}: {_not_json(text) or 'it holds neither a session nor a list of tasks'}")
    if promised and promised != TODO_TXT:
        return promised
    if checklists.looks_like_one(text) or not content:
        return MARKDOWN
    if promised or _TODO_TXT_LINE.search(text):
        return TODO_TXT
    raise UsageError(f"there is no telling in which format {shown(path)} is; say --from {', '.join(FORMS)}")


def _begins_a_session(text: str) -> bool:
    try:
        first = codec.parse(text.partition("\n")[0])
    except ValueError:
        return False
    return isinstance(first, dict) and first.get("type") == "session"


def _form_of_json(text: str) -> str | None:
    try:
        data = codec.parse(text)
    except ValueError:
        return None
    if archive.is_archive(data):
        return JSON
    return CLAUDE if claude_tasks.is_task_file(data) or claude_tasks.is_todo_list(data) else None


def _not_json(text: str) -> str | None:
    try:
        codec.parse(text)
    except ValueError as error:
        return _why(error)
    return None


def _why(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _pi(path: str, raw: bytes) -> FoundHistory:
    # Late, because only this format needs them.
    from tildone.dialects import plan_in_entry  # noqa: PLC0415  see above
    from tildone.stores.pi.interchange import read_history  # noqa: PLC0415  see above

    # What comes through a pipe can be read only once.
    if path != STREAM and os.path.isfile(path):
        history = read_history(path, plan_in_entry)
    else:
        from tempfile import TemporaryDirectory  # noqa: PLC0415  see above

        with TemporaryDirectory(prefix="tildone-") as folder:
            kept = os.path.join(folder, "session.jsonl")
            with open(kept, "wb") as file:
                file.write(raw)
            history = read_history(kept, plan_in_entry)
    said = tuple(ConversionWarning(_left(kind, count)) for kind, count in history.left_out)
    return FoundHistory(path, PI, history.session, history.events, history.session_head, said)


def _left(kind: str, count: int) -> str:
    """What is said of the entries of a conversation that are none of the plan's."""
    one = count == 1
    if kind == "message":
        what = "message of the conversation" if one else "messages of the conversation"
    else:
        what = f"{'entry' if one else 'entries'} of type {kind}"
    return f"{count} {what} {'stays' if one else 'stay'} in the file"


def _is_task_file(path: str) -> bool:
    """Whether the file is called, and is, as one of Claude Code's that holds one task."""
    if not _TASK_FILE.fullmatch(os.path.basename(path)):
        return False
    try:
        return claude_tasks.is_task_file(codec.parse(_text(path, _bytes(path))))
    except (TildoneError, ValueError):
        return False


def _folder(path: str) -> FoundPlan:
    """The list of tasks in a folder of Claude Code's."""
    names = sorted(os.listdir(path))
    files = [os.path.join(path, name) for name in names if name.endswith(".json") and not name.startswith(".")]
    if not files and not {".lock", ".highwatermark"}.intersection(names):
        raise Refused(f"there is no task of Claude Code's in {path}: name the folder of one session in ~/.claude/tasks")
    return _task_files(path, files)


def _task_files(folder: str, files: Sequence[str]) -> FoundPlan:
    held: list[Any] = []
    for path in files:
        try:
            data = codec.parse(_text(path, _bytes(path)))
        except NotFound:
            # Deleted since the folder was looked at.
            continue
        except ValueError as error:
            raise Refused(f"could not read {path}: {error}") from error
        if claude_tasks.is_todo_list(data):
            raise Refused(f"{path} is a whole list of todos: name one such file, not its folder")
        if not claude_tasks.is_task_file(data):
            raise Refused(f"{path} is not the file of a task: it has no subject")
        held.append(data)
    taken: ImportedPlan = claude_tasks.read_task_files(held)
    return FoundPlan(folder, CLAUDE, taken.plan, taken.said)


def _bytes(path: str) -> bytes:
    try:
        if path == STREAM:
            return sys.stdin.buffer.read()
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError as error:
        raise NotFound(f"could not read {path}: {error.strerror}") from error
    except OSError as error:
        raise TildoneError(f"could not read {shown(path)}: {error.strerror or error}") from error


def _text(path: str, raw: bytes) -> str:
    """The text in a file: UTF-8, or as Windows writes it, with or without a byte order mark."""
    try:
        return raw.decode(_BOMS.get(raw[:2], "utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Refused(f"could not read {shown(path)}: it is not UTF-8 text") from error
