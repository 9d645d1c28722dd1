"""Files that lines are only ever added to: written so that what was acknowledged is on disk, and nothing is lost."""

from __future__ import annotations

import errno
import os
import sys
from time import monotonic, sleep

from tildone.errors import StoreBusy, StoreError
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

LOCK = ".tildone.lock"
HALF_MADE = ".tildone.new"

_BINARY = getattr(os, "O_BINARY", 0)
_FIRST_TRY, _LAST_TRY = 0.0005, 0.005
_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}
_SHUT = {errno.EACCES, errno.EPERM, errno.EROFS}


class Lock:
    """The right to write in a folder: `with Lock(…) as lock`. One holder at a time, of all threads and processes.

    It is held on a file of its own, so that a session file can be replaced meanwhile. It is opened anew each time: a
    process that was forked has no share in what its parent holds.
    """

    def __init__(self, folder: str, patience: float) -> None:
        self._folder = folder
        self._path = os.path.join(folder, LOCK)
        self._patience = patience
        self._file = -1

    def __enter__(self) -> Self:
        make_folder(self._folder)
        try:
            self._acquire()
        except OSError as error:
            raise trouble(self._folder, error) from error
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        _unlock(self._file)
        os.close(self._file)

    def next_moment(self, clock: int) -> int:
        """A moment for the time stamp of a file: later than every one before it, whatever the clock does."""
        moment = max(clock, os.fstat(self._file).st_mtime_ns + 1)
        _stamp(self._path, moment)
        return moment

    def _acquire(self) -> None:
        until = monotonic() + self._patience
        pause = _FIRST_TRY
        while True:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | _BINARY, 0o666)
            try:
                if _locked(self._file) and _is_at(self._file, self._path):
                    return
                os.close(self._file)
            except BaseException:
                os.close(self._file)
                raise
            if monotonic() > until:
                raise StoreBusy(f"{self._folder} is in use by another process, for longer than we wait")
            sleep(pause)
            pause = min(pause * 1.5, _LAST_TRY)


if sys.platform == "win32":
    import msvcrt

    def _locked(file: int) -> bool:
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

    def _locked(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


def make_folder(path: str) -> None:
    """See that there is such a folder.

    Raises:
        StoreError: there cannot be.
    """
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise trouble(path, error) from error


def append(path: str, lines: bytes, moment: int | None = None) -> None:
    """Add whole lines at the end, in one write; on disk when this returns.

    An end that was cut off by whoever wrote it is closed first and left as it is: it may yet be of use to somebody.
    With a `moment`, that is when the file will have been written to.

    Raises:
        StoreError: that could not be done. What was added by half is an end that was cut off.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | _BINARY)
        try:
            _write(file, lines if _ends_well(file) else b"\n" + lines)
            if moment is not None:
                _stamp(path, moment)
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise trouble(path, error) from error


def create(path: str, content: bytes, half_made: str, moment: int | None = None) -> None:
    """Make a file: all of it, on disk, or none. With a `moment`, that is when it will have been written to.

    It is made in a folder that is there, and as `half_made` first, a path in the same folder that nobody else uses.

    Raises:
        FileExistsError: there is one already, which is left alone.
        StoreError: it could not be made.
    """
    try:
        _prepare(half_made, content)
        try:
            if moment is not None:
                _stamp(half_made, moment)
            _put_in_place(half_made, path)
        finally:
            _remove(half_made)
        _sync_folder(path)
    except FileExistsError:
        raise
    except OSError as error:
        raise trouble(path, error) from error


def replace(path: str, content: bytes, keep_as: str, half_made: str) -> None:
    """Put new content in the place of a file's, all of it or none; what it was is kept as another file beside it.

    Raises:
        StoreError: that could not be done; the file is as it was.
    """
    path = os.path.realpath(path)
    try:
        _prepare(half_made, content, os.stat(path).st_mode)
        try:
            _keep(path, keep_as)
            os.replace(half_made, path)
        finally:
            _remove(half_made)
        _sync_folder(path)
    except OSError as error:
        raise trouble(path, error) from error


def remove(path: str) -> None:
    """Remove a file for good.

    Raises:
        StoreError: that could not be done.
    """
    try:
        os.unlink(path)
        _sync_folder(path)
    except OSError as error:
        raise trouble(path, error) from error


def trouble(path: str, error: OSError) -> StoreError:
    """What an error of the system means for somebody who keeps plans there."""
    if error.errno in _FULL:
        return StoreError(f"{path} can't grow: the disk is full")
    if error.errno == errno.EFBIG:
        return StoreError(f"{path} can't grow: a file may not be larger than that")
    if error.errno in _SHUT:
        return StoreError(f"{path} can't be written: {error.strerror}")
    return StoreError(f"{path}: {error.strerror or error}")


def _is_at(file: int, path: str) -> bool:
    """Whether the open file is the one that others find at `path`, and not one that was deleted there."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _ends_well(file: int) -> bool:
    size = os.fstat(file).st_size
    if not size:
        return True
    os.lseek(file, size - 1, os.SEEK_SET)
    return os.read(file, 1) == b"\n"


def _write(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


def _stamp(path: str, moment: int) -> None:
    try:
        os.utime(path, ns=(moment, moment))
    except OSError:
        # A file of somebody else's may be written by many and stamped by its owner only: the system's stamp will do.
        return


def _prepare(path: str, content: bytes, mode: int = 0o666) -> None:
    # Never emptied and written again: a process that was killed at the wrong moment may have left here a second name
    # of a session file.
    _remove(path)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode & 0o777)
    try:
        _write(file, content)
        os.fsync(file)
    except BaseException:
        _remove(path)
        raise
    finally:
        os.close(file)


def _put_in_place(half_made: str, path: str) -> None:
    try:
        os.link(half_made, path)
    except FileExistsError:
        raise
    except OSError:
        # Where files have one name only, others could come in between; nobody does who holds the lock.
        if os.path.lexists(path):
            raise FileExistsError(path) from None
        os.rename(half_made, path)


def _keep(path: str, keep_as: str) -> None:
    """Give the file another name to live on under, the first that is free."""
    number = 1
    while os.path.lexists(keep_as if number == 1 else f"{keep_as}.{number}"):
        number += 1
    kept = keep_as if number == 1 else f"{keep_as}.{number}"
    try:
        os.link(path, kept)
    except OSError:
        with open(path, "rb") as file:
            _prepare(kept, file.read())


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def _sync_folder(path: str) -> None:
    """Have the folder remember on disk which files it holds; Windows does so by itself."""
    if sys.platform == "win32":
        return
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
