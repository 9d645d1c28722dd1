"""Reads the files to import from disk or standard input, and gives what they contain."""

from __future__ import annotations

import os
import re
import sys
from tempfile import TemporaryDirectory

from tildone.dialects import plan_in_entry
from tildone.errors import NotFound, Refused, TildoneError, UsageError, nearest
from tildone.files.private import REPLACED, open_private
from tildone.formats import claude_tasks
from tildone.formats.conversion import ConversionWarning, ImportedPlan
from tildone.formats.detection import (
    CLAUDE,
    FORMATS,
    JSON,
    PI,
    HistoryFile,
    ImportFile,
    PlanFile,
    detect_format,
    format_of_name,
    json_error,
    parse_file,
    reason,
)
from tildone.log import codec
from tildone.stores.pi.interchange import read_history
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

STREAM = "-"

_TASK_FILE = re.compile(r"[0-9]+\.json")
_BOMS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def checked_format(format_: str | None) -> str | None:
    """The format that the command line names, if any.

    Raises:
        UsageError: there is no such format.
    """
    if format_ is not None and format_ not in FORMATS:
        raise UsageError(f"there is no format {format_!r}; {nearest(format_, FORMATS)}")
    return format_


def file_title(path: str) -> str:
    return "standard input" if path == STREAM else path


def source_of(path: str) -> str:
    """The file as the source of tasks: a model is told its name, but not where it is."""
    return file_title(path) if path == STREAM else f"the file {os.path.basename(os.path.abspath(path))}"


def read_files(paths: Sequence[str], format_: str | None) -> list[ImportFile]:
    """What the files contain; several task files of Claude Code from one folder are one list.

    Raises:
        TildoneError: a file cannot be read.
    """
    single = [path for path in paths if format_ in (None, CLAUDE) and _is_task_file(path)]
    folders = {os.path.dirname(os.path.abspath(path)) for path in single}
    if len(single) == 1 or len(folders) != 1:
        return [read_file(path, format_) for path in paths]
    others = [read_file(path, format_) for path in paths if path not in single]
    return [_task_files(os.path.dirname(single[0]) or ".", single), *others]


def read_file(path: str, format_: str | None) -> ImportFile:
    """What a file or a task folder contains; the format is detected unless it is given.

    Raises:
        NotFound: the file does not exist.
        Refused: its content is not in the format.
        UsageError: the format cannot be detected.
        TildoneError: the file cannot be read.
    """
    if path != STREAM and os.path.isdir(path):
        if format_ not in (None, CLAUDE):
            raise Refused(f"{path} is a folder, but a {format_} import is a file")
        return _task_folder(path)
    raw = _bytes(path)
    if format_ == PI:
        return _pi_session(path, raw)
    text = _text(path, raw)
    format_ = format_ or _detected(path, text)
    if format_ == PI:
        return _pi_session(path, raw)
    try:
        return parse_file(path, format_, text)
    except (ValueError, RecursionError) as error:
        raise Refused(f"could not read {file_title(path)} as {format_}: {reason(error)}") from error


def _detected(path: str, text: str) -> str:
    found = detect_format(path, text)
    if found is not None:
        return found
    if format_of_name(path) == JSON:
        raise Refused(f"could not read {path}: {json_error(text) or 'it is neither a session nor a list of tasks'}")
    raise UsageError(f"cannot detect the format of {file_title(path)}; use --from {', '.join(FORMATS)}")


def _pi_session(path: str, raw: bytes) -> HistoryFile:
    # A pipe can be read only once.
    if path != STREAM and os.path.isfile(path):
        history = read_history(path, plan_in_entry)
    else:
        with TemporaryDirectory(prefix="tildone-") as folder:
            copy = os.path.join(folder, "session.jsonl")
            with os.fdopen(open_private(copy, REPLACED), "wb") as file:
                file.write(raw)
            history = read_history(copy, plan_in_entry)
    warnings = tuple(ConversionWarning(_not_imported(kind, count)) for kind, count in history.skipped_entries)
    return HistoryFile(path, PI, history.session, history.events, history.session_head, warnings)


def _not_imported(entry_type: str, count: int) -> str:
    """The warning on entries of a conversation that do not belong to the plan."""
    if entry_type == "message":
        what = "message" if count == 1 else "messages"
    else:
        what = f"{'entry' if count == 1 else 'entries'} of type {entry_type}"
    return f"{count} {what} not imported"


def _is_task_file(path: str) -> bool:
    """Whether the file is a task of Claude Code, by its name and its content."""
    if not _TASK_FILE.fullmatch(os.path.basename(path)):
        return False
    try:
        return claude_tasks.is_task_file(codec.parse_strictly(_text(path, _bytes(path))))
    except (TildoneError, ValueError):
        return False


def _task_folder(path: str) -> PlanFile:
    names = sorted(os.listdir(path))
    files = [os.path.join(path, name) for name in names if name.endswith(".json") and not name.startswith(".")]
    if not files and not {".lock", ".highwatermark"}.intersection(names):
        raise Refused(f"{path} contains no tasks of Claude Code; name the folder of one session in ~/.claude/tasks")
    return _task_files(path, files)


def _task_files(folder: str, files: Sequence[str]) -> PlanFile:
    held: list[Any] = []
    for path in files:
        try:
            data = codec.parse_strictly(_text(path, _bytes(path)))
        except NotFound:
            # Deleted since the folder was listed.
            continue
        except ValueError as error:
            raise Refused(f"could not read {path}: {error}") from error
        if claude_tasks.is_todo_list(data):
            raise Refused(f"{path} is a whole list of todos; import that file, not its folder")
        if not claude_tasks.is_task_file(data):
            raise Refused(f"{path} is not a task of Claude Code: it has no subject")
        held.append(data)
    taken: ImportedPlan = claude_tasks.read_task_files(held)
    return PlanFile(folder, CLAUDE, taken.plan, taken.warnings)


def _bytes(path: str) -> bytes:
    try:
        if path == STREAM:
            return sys.stdin.buffer.read()
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError as error:
        raise NotFound(f"could not read {path}: {error.strerror}") from error
    except OSError as error:
        raise TildoneError(f"could not read {file_title(path)}: {error.strerror or error}") from error


def _text(path: str, raw: bytes) -> str:
    """The text of a file: UTF-8 or UTF-16, with or without a byte order mark."""
    try:
        return raw.decode(_BOMS.get(raw[:2], "utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Refused(f"could not read {file_title(path)}: it is not UTF-8 text") from error
