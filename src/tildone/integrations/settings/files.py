"""Files of hosts: what an installation would make of them, and the writing of it."""

from __future__ import annotations

import os

from tildone.errors import Refused
from tildone.integrations.settings.edits import Edit, put_in, take_out
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable

BACKUP = ".tildone-backup"
NEW_FILE = 0o600


@value
class Change:
    """What becomes of a file: its text before and after, None where there is no file."""

    file: str
    before: str | None
    after: str | None


def installing(edits: Iterable[Edit]) -> list[Change]:
    """What an installation would change.

    Raises:
        Refused: a file can't be read, or something of somebody else stands in the way.
    """
    texts: dict[str, tuple[str | None, str | None]] = {}
    for edit in edits:
        file = os.path.realpath(edit.file)
        before, now = texts[file] if file in texts else (read(file),) * 2
        after = put_in(now, edit)
        texts[file] = before, after or None
    return _changes(texts)


def uninstalling(edits: Iterable[Edit]) -> list[Change]:
    """What taking an installation out again would change: where nobody else did meanwhile, all of it is as before."""
    texts: dict[str, tuple[str | None, str | None]] = {}
    for edit in edits:
        file = os.path.realpath(edit.file)
        before, now = texts[file] if file in texts else (read(file),) * 2
        texts[file] = before, None if now is None else take_out(now, edit, read(file + BACKUP))
    for file, (before, after) in texts.items():
        backup = read(file + BACKUP)
        if backup is not None and before is not None and _bare(after or "{}") == _bare(backup):
            texts[file] = before, backup
    return _changes(texts)


def read(file: str) -> str | None:
    """A file's text, line ends as they are; None if there is no such file.

    Raises:
        Refused: it can't be read.
    """
    try:
        with open(file, "rb") as opened:
            return opened.read().decode()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise Refused(f"{file} can't be read (it is not UTF-8 text); nothing was changed") from error
    except OSError as error:
        raise Refused(f"{file} can't be read ({error.strerror}); nothing was changed") from error


def install(change: Change) -> None:
    """Write a file, and keep what it was beside it, once.

    Raises:
        Refused: it can't be written.
    """
    if change.before is not None and not os.path.exists(change.file + BACKUP):
        _write(change.file + BACKUP, change.before, change.file)
    _write(change.file, change.after or "", change.file)


def uninstall(change: Change) -> None:
    """Write a file, or remove one of which nothing is left, and what was kept beside it.

    Raises:
        Refused: it can't be written.
    """
    try:
        if change.after is None:
            os.remove(change.file)
            _remove_if_empty(os.path.dirname(change.file))
        else:
            _write(change.file, change.after, change.file)
        if os.path.exists(change.file + BACKUP):
            os.remove(change.file + BACKUP)
    except OSError as error:
        raise Refused(f"cannot write {change.file}: {error.strerror}") from error


def _changes(texts: dict[str, tuple[str | None, str | None]]) -> list[Change]:
    return [Change(file, before, after) for file, (before, after) in texts.items() if before != after]


def _bare(text: str) -> str:
    return "".join(text.split())


def _write(file: str, text: str, like: str) -> None:
    """Write a file whole or not at all, with the permissions of another."""
    draft = f"{file}.{os.getpid()}"
    try:
        mode = os.stat(like).st_mode & 0o777 if os.path.exists(like) else NEW_FILE
        if os.path.exists(file) and not os.access(file, os.W_OK):
            raise Refused(f"cannot write {file}: it is read-only")
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as opened:
            opened.write(text.encode())
            opened.flush()
            os.fsync(opened.fileno())
        os.chmod(draft, mode)
        os.replace(draft, file)
    except OSError as error:
        if os.path.exists(draft):
            os.remove(draft)
        raise Refused(f"cannot write {file}: {error.strerror}") from error


def _remove_if_empty(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        return
