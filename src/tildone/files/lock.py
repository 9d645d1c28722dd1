"""An exclusive lock on a folder, across threads and processes.

The lock is advisory: `flock` (on Windows, a locked byte) on a dedicated file in the folder. The operating system
releases it when its holder dies, so no stale lock is left. The protected files are not locked themselves, because they
may be replaced while the lock is held. Every acquisition opens the lock file again, because descriptors inherited
through `fork` would share the lock.

The lock file may be deleted by a person or a program. After locking it, a process therefore checks that it is still the
file at its path, and retries if not: otherwise two processes could hold locks on two files of the same name.
"""

from __future__ import annotations

import os
import sys
from time import monotonic, sleep

from tildone.errors import StoreBusy
from tildone.files.durable import make_folder, set_mtime, store_error
from tildone.files.private import open_private
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

LOCK_FILE = ".tildone.lock"

_MIN_RETRY_SECONDS, _MAX_RETRY_SECONDS = 0.0005, 0.005


class FolderLock:
    """`with FolderLock(folder, timeout) as lock`: one holder at a time. The folder is created if necessary.

    Raises:
        StoreBusy: another holder kept it for longer than `timeout` seconds.
        StoreError: the folder cannot be created or written.
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
