"""Which of tildone's own files other users can read, and how to change that."""

from __future__ import annotations

import os
import stat

from tildone.distribution import program
from tildone.files.private import PRIVATE_FILE, PRIVATE_FOLDER
from tildone.log.findings import Finding, Severity
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def loose_modes(loose: Sequence[str], where: str, *, fix: bool) -> Iterator[Finding]:
    """What is to be said about the files and folders that other users may have access to; with `fix`, it is ended."""
    if not loose:
        return
    what = f"{len(loose):,} files and folders {where}" if len(loose) > 1 else loose[0]
    if not fix:
        has = "have modes that give" if len(loose) > 1 else "has a mode that gives"
        yield Finding(Severity.WARNING, f"{what} {has} other users access", f"{program()} doctor --fix")
        return
    failed = False
    for path in loose:
        try:
            _make_private(path)
        except OSError as error:
            failed = True
            yield Finding(Severity.ERROR, f"cannot change the mode of {path}: {error.strerror}")
    if not failed:
        yield Finding(Severity.OK, f"took access to {what} away from other users")


def is_loose(path: str) -> bool:
    """Return whether the mode of a file or folder gives other users access. A symbolic link has no mode of its own."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        # Files of the store come and go.
        return False
    return bool(mode & OTHERS) and not stat.S_ISLNK(mode)


def loose_paths(folder: str) -> Iterator[str]:
    """Yield the folder, and all files and folders below it, to which other users have access; no symbolic link."""
    if os.name != "posix" or not os.path.isdir(folder):
        return
    if is_loose(folder):
        yield folder
    for parent, folders, files in os.walk(folder):
        yield from filter(is_loose, (os.path.join(parent, name) for name in (*folders, *files)))


def _make_private(path: str) -> None:
    """Take the access to a file or folder away from other users.

    Raises:
        OSError: it belongs to somebody else.
    """
    # Opened first, so that a link that takes the place of the file is not followed; a reader of a pipe would block.
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        os.fchmod(file, PRIVATE_FOLDER if stat.S_ISDIR(os.fstat(file).st_mode) else PRIVATE_FILE)
    finally:
        os.close(file)
