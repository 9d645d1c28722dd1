"""Append-only files of lines, written so that acknowledged data survives a crash.

Guarantees: when a function returns, its changes are on disk (file and folder entry are fsynced). Creating and replacing
files is atomic. An append is one `write` of whole lines; if the process or the machine dies during it, the file ends in
a torn line. The next append terminates that line first. Readers skip lines that they cannot parse, so a torn line never
corrupts the line after it.

Callers hold the folder's lock while they write; readers need none.
"""

from __future__ import annotations

import errno
import os

from tildone.errors import StoreError
from tildone.files.atomic import publish, remove_if_there, sync_folder, write_all, write_new
from tildone.files.private import PRIVATE_FILE, make_private_folder

DRAFT_FILE = ".tildone.new"
"""Name for the `draft` of a file in a folder that is written under a lock. A crashed process may leave one behind."""

_BINARY = getattr(os, "O_BINARY", 0)
_DISK_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}
_NOT_PERMITTED = {errno.EACCES, errno.EPERM, errno.EROFS}


def make_folder(path: str) -> None:
    """Create a folder and its missing parents, accessible only to the user.

    Raises:
        StoreError: it cannot be created.
    """
    try:
        make_private_folder(path)
    except OSError as error:
        raise store_error(path, error) from error
    except ValueError as error:
        raise StoreError(f"{path!r} is not a valid file name: {error}") from error


def append(path: str, lines: bytes, mtime: int | None = None) -> None:
    """Append whole lines to an existing file durably. `mtime` sets its modification time (ns).

    Raises:
        StoreError: it failed; a torn line may be left at the end.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | _BINARY)
        try:
            write_all(file, lines if _ends_with_newline(file) else b"\n" + lines)
            if mtime is not None:
                set_mtime(path, mtime)
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise store_error(path, error) from error


def create(path: str, content: bytes, draft: str, mtime: int | None = None, mode: int = PRIVATE_FILE) -> None:
    """Create a file in an existing folder. `draft` is an unused path in that folder, to which it is written first.

    The file is private, or with the mode SHARED_FILE shared, as `files.private` says.

    Raises:
        FileExistsError: the file exists; it is unchanged.
        StoreError: it cannot be created.
    """
    try:
        _write_draft(draft, content, mode=mode)
        try:
            if mtime is not None:
                set_mtime(draft, mtime)
            _move_unless_exists(draft, path)
        finally:
            remove_if_there(draft)
        sync_folder(path)
    except FileExistsError:
        raise
    except OSError as error:
        raise store_error(path, error) from error


def replace(path: str, content: bytes, backup: str, draft: str) -> None:
    """Replace a file's content and keep the old file as `backup` or, if that exists, `backup`.2, `backup`.3 and so on.

    Raises:
        StoreError: it failed; the file is unchanged.
    """
    path = os.path.realpath(path)
    try:
        _write_draft(draft, content, like=os.stat(path))
        try:
            _back_up(path, backup)
            publish(draft, path)
        finally:
            remove_if_there(draft)
    except OSError as error:
        raise store_error(path, error) from error


def remove(path: str) -> None:
    """Remove a file durably.

    Raises:
        StoreError: it cannot be removed.
    """
    try:
        os.unlink(path)
        sync_folder(path)
    except OSError as error:
        raise store_error(path, error) from error


def set_mtime(path: str, mtime: int) -> None:
    """Set a file's modification time, in nanoseconds. Errors are ignored: a writer need not be the owner."""
    try:
        os.utime(path, ns=(mtime, mtime))
    except OSError:
        return


def store_error(path: str, error: OSError) -> StoreError:
    """Return the `StoreError` that describes an operating system error for a store at `path`."""
    if error.errno in _DISK_FULL:
        return StoreError(f"{path} can't grow: the disk is full")
    if error.errno == errno.EFBIG:
        return StoreError(f"{path} can't grow: the system allows no larger file")
    if error.errno in _NOT_PERMITTED:
        return StoreError(f"{path} can't be written: {error.strerror}")
    return StoreError(f"{path}: {error.strerror or error}")


def _ends_with_newline(file: int) -> bool:
    size = os.fstat(file).st_size
    if not size:
        return True
    os.lseek(file, size - 1, os.SEEK_SET)
    return os.read(file, 1) == b"\n"


def _write_draft(path: str, content: bytes, *, mode: int = PRIVATE_FILE, like: os.stat_result | None = None) -> None:
    # Removed, not truncated: if a process was killed between link and unlink, this is a hard link to a live file.
    remove_if_there(path)
    try:
        write_new(path, content, mode=mode, like=like)
    except BaseException:
        remove_if_there(path)
        raise


def _move_unless_exists(draft: str, path: str) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:
        # The file system has no hard links. Check and rename are two steps, which the caller's lock makes atomic.
        if os.path.lexists(path):
            raise FileExistsError(path) from None
        os.rename(draft, path)


def _back_up(path: str, backup: str) -> None:
    number = 1
    while os.path.lexists(unused := backup if number == 1 else f"{backup}.{number}"):
        number += 1
    try:
        os.link(path, unused)
    except OSError:
        with open(path, "rb") as file:
            _write_draft(unused, file.read(), like=os.fstat(file.fileno()))
