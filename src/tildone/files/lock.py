"""The exclusive right to write in a folder, across threads and processes.

The lock is advisory: `flock` (on Windows, a locked byte) on a file of its own in the folder. The system releases it
when its holder dies, so no stale lock is left. It is not taken on the files it protects because these may be replaced
while it is held. The lock file is opened anew for every acquisition: descriptors inherited through `fork` would share
the lock.

Somebody may delete the lock file. So whoever has the lock checks that the locked file is still the one at its path, and
tries again if not: two processes could otherwise hold locks on two files of the same name.
"""

from __future__ import annotations

import os
import sys
from time import monotonic, sleep

from tildone.errors import StoreBusy
from tildone.files.durable import make_folder, set_mtime, store_error
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

LOCK_FILE = ".tildone.lock"

_BINARY = getattr(os, "O_BINARY", 0)
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.0005, 0.005


class FolderLock:
    """`with FolderLock(folder, timeout) as lock`: one holder at a time. The folder is created if necessary.

    Raises:
        StoreBusy: somebody else held it for `timeout` seconds.
        StoreError: the folder cannot be used.
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
        """A modification time (ns) for a file in the folder, later than every one given before.

        It is the time `clock`, unless the clock went back. The newest is kept as the lock file's own modification time.
        """
        mtime = max(clock, os.fstat(self._file).st_mtime_ns + 1)
        set_mtime(self._path, mtime)
        return mtime

    def _acquire(self) -> None:
        until = monotonic() + self._timeout
        pause = _FIRST_PAUSE_SECONDS
        while True:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | _BINARY, 0o666)
            try:
                if _try_lock(self._file) and _is_at(self._file, self._path):
                    return
                os.close(self._file)
            except BaseException:
                os.close(self._file)
                raise
            if monotonic() > until:
                raise StoreBusy(f"{self._folder} is in use by another process, for longer than we wait")
            sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE_SECONDS)


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
