"""Settings files on disk: computing the changes of an installation, and writing them.

A file is replaced only if it is still as it was when its change was computed. Otherwise `write_all` computes the change
again, so that an edit that another program makes meanwhile is not lost. Between the last look and the replacement there
remains a moment; closing it would take a lock that the other program respects.

The first installation copies each file to a backup beside it (`.tildone-backup`). Removal compares with the backup: a
file that nobody else has changed since gets its old bytes back; from any other file only our entries are removed.
"""

from __future__ import annotations

import os

from tildone.errors import Refused
from tildone.files.atomic import replace_file
from tildone.integrations.settings.edits import Edit, put_in, take_out
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

BACKUP_SUFFIX = ".tildone-backup"
NEW_FILE_MODE = 0o600


MAX_ATTEMPTS = 5


class FileChanged(Refused):
    """Another program has changed a file since it was read."""


@value
class SettingsChange:
    """The text of a file before and after a change; None means that there is no file."""

    file: str
    before: str | None
    after: str | None


def install_changes(edits: Iterable[Edit]) -> list[SettingsChange]:
    """Return the changes that applying these edits makes.

    Raises:
        Refused: a file can't be read or parsed, or contains an entry in the same place that is not ours.
    """
    texts: dict[str, tuple[str | None, str | None]] = {}
    for edit in edits:
        file = os.path.realpath(edit.file)
        before, now = texts[file] if file in texts else (read(file),) * 2
        after = put_in(now, edit)
        texts[file] = before, after or None
    return _changes(texts)


def uninstall_changes(edits: Iterable[Edit]) -> list[SettingsChange]:
    """Return the changes that undoing these edits makes.

    Raises:
        Refused: a file can't be read or parsed.
    """
    texts: dict[str, tuple[str | None, str | None]] = {}
    for edit in edits:
        file = os.path.realpath(edit.file)
        before, now = texts[file] if file in texts else (read(file),) * 2
        texts[file] = before, None if now is None else take_out(now, edit, read(file + BACKUP_SUFFIX))
    for file, (before, after) in texts.items():
        backup = read(file + BACKUP_SUFFIX)
        if (
            backup is not None
            and before is not None
            and _without_whitespace(after or "{}") == _without_whitespace(backup)
        ):
            texts[file] = before, backup
    return _changes(texts)


def write_all(
    changes: list[SettingsChange], write: Callable[[SettingsChange], None], again: Callable[[], list[SettingsChange]]
) -> None:
    """Write all changes with `install` or `uninstall`; if a file has changed meanwhile, those that `again` computes.

    Raises:
        Refused: a file cannot be written, or changes all the time.
    """
    for attempt in range(MAX_ATTEMPTS):
        try:
            for change in changes:
                write(change)
        except FileChanged:
            if attempt + 1 == MAX_ATTEMPTS:
                raise
            changes = again()
        else:
            return


def read(file: str) -> str | None:
    """Return the text of a file with its line ends as they are; None if there is no such file.

    Raises:
        Refused: the file can't be read.
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


def install(change: SettingsChange) -> None:
    """Write a changed file, after making a backup if there is none yet.

    Raises:
        FileChanged: another program has changed it meanwhile.
        Refused: the file can't be written.
    """
    _check_unchanged(change)
    if change.before is not None and not os.path.exists(change.file + BACKUP_SUFFIX):
        _write(change.file + BACKUP_SUFFIX, change.before, mode_of=change.file)
    _write(change.file, change.after or "", mode_of=change.file)


def uninstall(change: SettingsChange) -> None:
    """Write a changed file, or remove it if nothing is left in it, and remove its backup.

    Raises:
        FileChanged: another program has changed it meanwhile.
        Refused: the file can't be written.
    """
    _check_unchanged(change)
    try:
        if change.after is None:
            os.remove(change.file)
            _remove_if_empty(os.path.dirname(change.file))
        else:
            _write(change.file, change.after, mode_of=change.file)
        if os.path.exists(change.file + BACKUP_SUFFIX):
            os.remove(change.file + BACKUP_SUFFIX)
    except OSError as error:
        raise Refused(f"cannot write {change.file}: {error.strerror}") from error


def _check_unchanged(change: SettingsChange) -> None:
    if read(change.file) != change.before:
        raise FileChanged(f"another program is changing {change.file}; try again when it has finished")


def _changes(texts: dict[str, tuple[str | None, str | None]]) -> list[SettingsChange]:
    return [SettingsChange(file, before, after) for file, (before, after) in texts.items() if before != after]


def _without_whitespace(text: str) -> str:
    return "".join(text.split())


def _write(file: str, text: str, mode_of: str) -> None:
    """Write a file atomically, with the permissions of the file `mode_of` if that exists."""
    try:
        like = os.stat(mode_of) if os.path.exists(mode_of) else None
        if os.path.exists(file) and not os.access(file, os.W_OK):
            raise Refused(f"cannot write {file}: it is read-only")
        os.makedirs(os.path.dirname(file), exist_ok=True)
        replace_file(file, text.encode(), like=like, mode=NEW_FILE_MODE)
    except OSError as error:
        raise Refused(f"cannot write {file}: {error.strerror}") from error


def _remove_if_empty(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        return
