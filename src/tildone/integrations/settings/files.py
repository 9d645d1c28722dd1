"""Settings files on disk: computing the changes of an installation, and writing them.

A file is replaced only if it is still as it was when its change was computed. Otherwise `write_all` computes the change
again, so that an edit that another program makes meanwhile is not lost. Between the last look and the replacement there
remains a moment; closing it would take a lock that the other program respects.

Each installation records what the file contains without our entries (`backups`). Removal compares with that: a file
that nobody else has changed since gets its old bytes back; from any other file only our entries are removed.

The files in a project come with its repository, so they may be symbolic links that somebody else made. Such a link is
followed only to another place in the project (`within`); the links of a person in their home are followed anywhere.
"""

from __future__ import annotations

import os

from tildone.errors import Refused
from tildone.files.atomic import replace_file
from tildone.files.boundary import real_path_inside
from tildone.files.private import PRIVATE_FILE, SHARED_FILE, make_private_folder, make_shared_folder
from tildone.integrations.settings.edits import Edit, contains, put_in, take_out
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tildone.integrations.settings.backups import Backups

MAX_ATTEMPTS = 5


class FileChanged(Refused):
    """Another program has changed a file since it was read."""


@value
class SettingsChange:
    """The text of a file before and after a change, and without our entries; None means that there is no file.

    `within` is the folder that the file must not be outside of; empty if it may be anywhere.
    """

    file: str
    before: str | None
    after: str | None
    without_ours: str | None = None
    within: str = ""


def install_changes(edits: Sequence[Edit], backups: Backups, within: str = "") -> list[SettingsChange]:
    """Return the changes that applying these edits makes.

    Raises:
        Refused: a file can't be read or parsed, is a link out of `within`, or contains an entry in the same place that
            is not ours.
    """
    changes = []
    for file, own in _by_file(edits, within).items():
        before = after = read(file)
        for edit in own:
            after = put_in(after, edit) or None
        if after != before:
            changes.append(SettingsChange(file, before, after, _without_ours(file, before, own, backups), within))
    return changes


def uninstall_changes(edits: Sequence[Edit], backups: Backups, within: str = "") -> list[SettingsChange]:
    """Return the changes that undoing these edits makes.

    Raises:
        Refused: a file can't be read or parsed, or is a link out of `within`.
    """
    changes = []
    for file, own in _by_file(edits, within).items():
        before = read(file)
        after = _without_ours(file, before, own, backups)
        if before is not None and after != before:
            changes.append(SettingsChange(file, before, after, after, within))
    return changes


def _by_file(edits: Iterable[Edit], within: str) -> dict[str, list[Edit]]:
    by_file: dict[str, list[Edit]] = {}
    for edit in edits:
        file = real_path_inside(within, edit.file) if within else os.path.realpath(edit.file)
        by_file.setdefault(file, []).append(edit)
    return by_file


def _without_ours(file: str, text: str | None, edits: Sequence[Edit], backups: Backups) -> str | None:
    """Return the text of a file without our entries; None if there would be no file.

    Raises:
        Refused: the file can't be parsed.
    """
    backup = backups.get(file)
    if backup is not None and backup.matches(text):
        return backup.text
    if text is None or (backup is None and not any(contains(text, edit) for edit in edits)):
        return text
    before = backup.text if backup is not None else None
    for edit in edits:
        text = take_out(text, edit, before) if text is not None else None
    return text


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


def install(change: SettingsChange, backups: Backups) -> None:
    """Write a changed file, after recording what it contains without our entries.

    Raises:
        FileChanged: another program has changed it meanwhile.
        Refused: the file can't be written.
    """
    _check_unchanged(change)
    _check_writable(change.file)
    if change.without_ours is None:
        backups.drop(change.file)
    else:
        backups.put(change.file, change.without_ours, change.after or "")
    _write(change, change.after or "")


def uninstall(change: SettingsChange, backups: Backups) -> None:
    """Write a changed file, or remove it if nothing is left in it, and forget its backup.

    Raises:
        FileChanged: another program has changed it meanwhile.
        Refused: the file can't be written.
    """
    _check_unchanged(change)
    if change.after is None:
        try:
            os.remove(change.file)
        except OSError as error:
            raise Refused(f"cannot remove {change.file}: {error.strerror}") from error
        _remove_if_empty(os.path.dirname(change.file))
    else:
        _check_writable(change.file)
        _write(change, change.after)
    backups.drop(change.file)


def forget(edits: Iterable[Edit], backups: Backups, within: str = "") -> None:
    """Delete the backups of the files of these edits, when nothing of ours is in them."""
    for file in _by_file(edits, within):
        backups.drop(file)


def _check_unchanged(change: SettingsChange) -> None:
    if change.within:
        real_path_inside(change.within, change.file)
    if read(change.file) != change.before:
        raise FileChanged(f"another program is changing {change.file}; try again when it has finished")


def _check_writable(file: str) -> None:
    if os.path.exists(file) and not os.access(file, os.W_OK):
        raise Refused(f"cannot write {file}: it is read-only")


def _write(change: SettingsChange, text: str) -> None:
    """Write a file atomically, with the permissions that it has if it exists."""
    file = change.file
    try:
        like = os.stat(file) if os.path.exists(file) else None
        (make_shared_folder if change.within else make_private_folder)(os.path.dirname(file))
        replace_file(file, text.encode(), like=like, mode=SHARED_FILE if change.within else PRIVATE_FILE)
    except OSError as error:
        raise Refused(f"cannot write {file}: {error.strerror}") from error


def _remove_if_empty(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        return
