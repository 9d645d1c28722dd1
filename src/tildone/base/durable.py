"""Append-only files of lines, written so that acknowledged data survives a crash, and the lock of their folder.

Guarantees: when a function returns, its changes are on disk (file and folder entry are fsynced). Creating and replacing
files is atomic. An append is one `write` of whole lines; if the process or the machine dies during it, the file ends in
a torn line. The next append terminates that line first. Readers skip lines that they cannot parse, so a torn line never
corrupts the line after it.

Callers hold the folder's lock while they write; readers need none. The lock is advisory, across threads and processes:
`flock` (on Windows, a locked byte) on a dedicated file. The operating system releases it when its holder dies, so no
stale lock is left. The protected files are not locked themselves, because they may be replaced while the lock is held.
Every acquisition opens the lock file again, because descriptors inherited through `fork` would share the lock. A person
or a program may delete the lock file, so that two processes could lock two files of that name: after locking it, a
process checks that it is still the file at its path, and retries if not.
"""

from __future__ import annotations

import errno
import os
import sys
from time import monotonic, sleep

from tildone.base import TYPE_CHECKING, StoreBusy, StoreError
from tildone.base.files import publish, remove_if_there, sync_folder, write_all, write_new
from tildone.base.private import PRIVATE_FILE, make_private_folder, open_private

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self


DRAFT_FILE = ".tildone.new"
"""Name for the `draft` of a file in a folder that is written under a lock. A crashed process may leave one behind."""

_BINARY = getattr(os, "O_BINARY", 0)
_DISK_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}
_NOT_PERMITTED = {errno.EACCES, errno.EPERM, errno.EROFS}


def make_folder(path: str) -> None:
    """Create a folder and its missing parents, accessible only to the user.

    Raises StoreError if it cannot be created.
    """
    try:
        make_private_folder(path)
    except OSError as error:
        raise store_error(path, error) from error
    except ValueError as error:
        raise StoreError(f"{path!r} is not a valid file name: {error}") from error


def append(path: str, lines: bytes, mtime: int | None = None) -> None:
    """Append whole lines durably; `mtime` (ns) is set. Raises StoreError if it failed; a torn line may be left."""
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | _BINARY)
        try:
            size = os.lseek(file, 0, os.SEEK_END)
            os.lseek(file, max(0, size - 1), os.SEEK_SET)
            is_torn = size > 0 and os.read(file, 1) != b"\n"
            write_all(file, b"\n" + lines if is_torn else lines)
            if mtime is not None:
                set_mtime(path, mtime)
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise store_error(path, error) from error


def create(path: str, content: bytes, draft: str, mtime: int | None = None, mode: int = PRIVATE_FILE) -> None:
    """Create a file in an existing folder. `draft` is an unused path in that folder, to which it is written first.

    The file is private, or with the mode SHARED_FILE shared (see `tildone.base.private`). Raises FileExistsError if the
    file exists; it is unchanged, StoreError if it cannot be created.
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

    Raises StoreError if it failed; the file is unchanged.
    """
    path = os.path.realpath(path)
    try:
        _write_draft(draft, content, like=os.stat(path))
        try:
            number = 1
            while os.path.lexists(unused := backup if number == 1 else f"{backup}.{number}"):
                number += 1
            try:
                os.link(path, unused)
            except OSError:
                with open(path, "rb") as file:
                    _write_draft(unused, file.read(), like=os.fstat(file.fileno()))
            publish(draft, path)
        finally:
            remove_if_there(draft)
    except OSError as error:
        raise store_error(path, error) from error


def remove(path: str) -> None:
    """Remove a file durably. Raises StoreError if it cannot be removed."""
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


LOCK_FILE = ".tildone.lock"

_MIN_RETRY_SECONDS, _MAX_RETRY_SECONDS = 0.0005, 0.005


class FolderLock:
    """`with FolderLock(folder, timeout) as lock`: one holder at a time. The folder is created if necessary.

    Raises StoreBusy if another holder kept it for longer than `timeout` seconds, StoreError if the folder cannot be
    created or written.
    """

    def __init__(self, folder: str, timeout: float) -> None:
        self._folder = folder
        self._path = os.path.join(folder, LOCK_FILE)
        self._timeout = timeout
        self._file = -1

    def __enter__(self) -> Self:
        make_folder(self._folder)
        try:
            self._acquire()
        except OSError as error:
            raise store_error(self._folder, error) from error
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        _unlock(self._file)
        os.close(self._file)

    def next_mtime(self, clock: int) -> int:
        """Return a modification time (ns) for a file in the folder, later than all times returned before.

        It is `clock`, unless the clock went back. The latest one is stored as the lock file's own modification time.
        """
        mtime = max(clock, os.fstat(self._file).st_mtime_ns + 1)
        set_mtime(self._path, mtime)
        return mtime

    def _acquire(self) -> None:
        deadline = monotonic() + self._timeout
        pause = _MIN_RETRY_SECONDS
        while True:
            self._file = open_private(self._path, os.O_RDWR | os.O_CREAT)
            try:
                if _try_lock(self._file) and _is_at(self._file, self._path):
                    return
                os.close(self._file)
            except BaseException:
                os.close(self._file)
                raise
            if monotonic() > deadline:
                raise StoreBusy(f"{self._folder} is in use by another process, for longer than we wait")
            sleep(pause)
            pause = min(pause * 1.5, _MAX_RETRY_SECONDS)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: int) -> bool:
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(file: int) -> None:
        os.lseek(file, 0, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


def _is_at(file: int, path: str) -> bool:
    """Whether the open file is the one at `path`, rather than one that was deleted there."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False
