"""The SQLite file behind a store: its connection, its write-ahead log, and whether it is still the same file.

Theory of operation. In WAL mode a commit goes to the log (`FILE-wal`); a checkpoint copies the log into the file later.
SQLite assumes that file and log belong together. Users break this assumption: they overwrite the file with a backup
(`cp`) while it has a log, or replace it while a process has it open. Applied to another file, the log would corrupt it,
and a process with a deleted file open would continue to write to a file that nobody can read.

The *stamp* of a file detects this: its device, inode, size and modification time. In WAL mode only checkpoints change
the file itself, and only this class makes checkpoints (SQLite's automatic ones are off). After each checkpoint the
stamp is recorded in the table `mark`, in a transaction that goes to the log and leaves the file unchanged.

- Before each use the stamp is compared with the remembered one: one `stat` call. A different inode means that the file
  was deleted or replaced: the connection is dropped without a checkpoint, and whatever is at the path is opened.
- The same inode with another size or time was either checkpointed by another process, which then records the stamp
  within `SETTLE_SECONDS`, or overwritten in place: then the file is reopened, which discards cached pages.
- When a file is opened with a log beside it and the recorded stamp does not match, the whole store is checked before
  anything is read or written. If it is damaged, `StoreDamaged` explains how to restore a backup.
- On close, the log is checkpointed only if the file is known to be the same one: SQLite would otherwise write the log
  into a file that it does not belong to.

A process that dies between checkpoint and recording leaves a stamp that does not match: the next one to open the store
checks it once, finds no damage, and records the stamp.
"""

from __future__ import annotations

import os
from _thread import RLock
from time import monotonic, sleep

import apsw

from tildone.base import TYPE_CHECKING, NotFound, StoreDamaged, StoreError
from tildone.stores.sqlite import schema as queries
from tildone.stores.sqlite.schema import (
    Transaction,
    has_log,
    migrate,
    opened_or_created,
    page_counter,
    prepare_reading,
    record_stamp,
    stamp_of,
    store_error,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Condition
    from typing import TypeVar

    from tildone.plan.runs import RunFence

    T = TypeVar("T")

CHECKPOINT_PAGES = 1000
"""The log is checkpointed when it has this many pages, SQLite's own default."""

SETTLE_SECONDS = 1.0
"""How long another process may take from the end of a checkpoint to recording the stamp."""

_RETRY_SECONDS = 0.005


class SqliteFile:
    """An open file, for one thread at a time: `with file as connection`.

    Errors of the driver inside the block leave it as `StoreError`. Callers call `notify` after each change, and let
    each statement return all of its rows (`fetchall`, `get`): the driver does not reset an unfinished one while another
    thread uses the connection, which then stays at one snapshot, and every later change fails. A `read_only` file is
    neither created nor migrated nor written to, and needs no permission to write.
    """

    def __init__(self, path: str, timeout: float, *, read_only: bool = False) -> None:
        self.path = path
        self._lock = RLock()
        self._changed: Condition | None = None
        self.timeout = timeout
        self._read_only = read_only
        self._wal_pages = [0]
        self._closed = False
        self._connected = False
        try:
            self._open()
        except (apsw.Error, UnicodeDecodeError) as error:
            raise store_error(error, path) from error

    def __enter__(self) -> apsw.Connection:
        self._lock.acquire()
        try:
            if not self._connected or stamp_of(self.path) != self._stamp:
                self._revalidate()
        except BaseException as error:
            self._lock.release()
            if isinstance(error, apsw.Error | UnicodeDecodeError):
                raise store_error(error, self.path) from error
            raise
        return self._connection

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            if self._wal_pages[0] >= CHECKPOINT_PAGES and error is None:
                self._checkpoint()
        finally:
            self._lock.release()
        if isinstance(error, apsw.Error | UnicodeDecodeError):
            raise store_error(error, self.path) from error

    def __del__(self) -> None:
        # Without this, the log would remain whenever a store is garbage collected without being closed.
        try:
            self.close()
        except Exception:  # noqa: BLE001  names may be gone at interpreter exit
            return

    @property
    def changed(self) -> Condition:
        """The condition to wait for a change. It has the lock of the file."""
        # Late, because few callers wait.
        from threading import Condition

        with self._lock:
            if self._changed is None:
                self._changed = Condition(self._lock)
            return self._changed

    def notify(self) -> None:
        """Wake the threads that wait for a change. Call this inside the block."""
        if self._changed is not None:
            self._changed.notify_all()

    def write(self, work: Callable[[apsw.Connection], T], fence: RunFence | None = None) -> T:
        """Do the work in a write transaction, tell those who wait, and return its result. See `Transaction`."""
        with self as connection:
            self.record_stamp_once()
            with Transaction(connection, fence):
                result = work(connection)
            self.notify()
        return result

    def record_stamp_once(self) -> None:
        """Record the stamp unless it is known to be recorded. Call this before each change."""
        if not self._recorded:
            self._record_stamp()

    def checkpoint(self) -> None:
        with self:
            self._checkpoint()

    def close(self) -> None:
        """Close the file. When the last process closes it, the log is removed."""
        with self._lock:
            self._closed = True
            if self._connected:
                is_same = not has_log(self.path) if self._read_only else self._is_as_recorded()
                if is_same:
                    self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
                self._drop()

    def _open(self) -> None:
        """Open the file that is at the path now.

        Raises StoreDamaged if it is not a store, or its log belongs to another file.
        """
        had_log = has_log(self.path)
        try:
            self._connection = self._connect(had_log=had_log)
        except OSError as error:
            hint = "" if self._read_only else "; choose another place with --store or $TILDONE_STORE"
            raise StoreError(f"cannot open {self.path}: {error.strerror or error}{hint}") from error
        except ValueError as error:
            raise StoreError(f"cannot open {self.path!r}, which is not a valid file name: {error}") from error
        self._stamp = stamp_of(self.path)
        self._recorded = False
        self._connected = True
        self._wal_pages[0] = 0
        self._connection.set_wal_hook(page_counter(self._wal_pages))
        if had_log:
            self._check_log_belongs()

    def _connect(self, *, had_log: bool) -> apsw.Connection:
        if not self._read_only:
            connection = opened_or_created(self.path)
            return self._prepared(connection, lambda: migrate(connection, self.path, self.timeout, had_log=had_log))
        try:
            os.stat(self.path)
        except FileNotFoundError as error:
            raise NotFound(f"there is no store at {self.path}") from error
        return self._connect_read_only(immutable=False)

    def _connect_read_only(self, *, immutable: bool) -> apsw.Connection:
        """Connect without creating or changing the file.

        A reader of a file in WAL mode creates the files of the log if they are missing, which needs permission to
        write to the folder. Without it and without a log, the file cannot be in use, and SQLite may treat it as
        immutable.
        """
        if immutable:
            uri = self.path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            connection = apsw.Connection(f"file:{uri}?immutable=1", flags=flags)
        else:
            connection = apsw.Connection(self.path, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            return self._prepared(connection, lambda: prepare_reading(connection, self.path))
        except (apsw.ReadOnlyError, apsw.CantOpenError):
            if immutable or has_log(self.path):
                raise
            return self._connect_read_only(immutable=True)

    def _prepared(self, connection: apsw.Connection, prepare: Callable[[], None]) -> apsw.Connection:
        try:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.set_busy_timeout(int(self.timeout * 1000))
            prepare()
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _revalidate(self) -> None:
        """Accept a changed stamp if another process made a checkpoint, else reopen the file."""
        if self._closed:
            raise StoreError(f"{self.path} has been closed")
        if self._connected:
            stamp = stamp_of(self.path)
            if stamp is not None and self._stamp is not None and stamp[:2] == self._stamp[:2]:
                if self._read_only:
                    self._stamp = stamp
                    return
                if self._matches_recorded_stamp():
                    return
            self._drop()
        self._open()

    def _check_log_belongs(self) -> None:
        """Check the whole store if the file and its log may not belong together."""
        try:
            if has_log(self.path) and not self._matches_recorded_stamp():
                self._check_integrity()
                if not self._read_only:
                    self._record_stamp()
        except apsw.ReadOnlyError:
            # The result cannot be recorded: the next process to open the store checks it again.
            return
        except BaseException:
            self._drop()
            raise

    def _check_integrity(self) -> None:
        # Late, because it is hardly ever needed.
        from tildone.stores.sqlite.health import integrity_errors

        for problem in integrity_errors(self._connection):
            raise StoreDamaged(
                f"{self.path} was overwritten while it was in use, and does not fit its write-ahead log: {problem}; "
                "to restore a backup: tildone restore FILE"
            )

    def _matches_recorded_stamp(self) -> bool:
        """Return whether the file has the recorded stamp; wait briefly for another process to record it."""
        until = monotonic() + SETTLE_SECONDS
        previous = None
        while True:
            stamp = stamp_of(self.path)
            if stamp is None or not has_log(self.path):
                return False
            if self._connection.execute(queries.STAMP).get == stamp[2:]:
                self._stamp = stamp
                self._recorded = True
                return True
            if stamp != previous:
                previous, until = stamp, monotonic() + SETTLE_SECONDS
            if monotonic() > until:
                return False
            sleep(_RETRY_SECONDS)

    def _record_stamp(self) -> None:
        with Transaction(self._connection):
            self._stamp = record_stamp(self._connection, self.path)
        self._recorded = True

    def _checkpoint(self) -> None:
        """Copy the log into the file. Failure is harmless: the commit is already durable in the log."""
        self._wal_pages[0] = 0
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            self._record_stamp()
        except apsw.Error:
            self._stamp = stamp_of(self.path)
            self._recorded = False

    def _drop(self) -> None:
        self._connected = False
        self._connection.close(force=True)

    def _is_as_recorded(self) -> bool:
        stamp = stamp_of(self.path)
        if stamp is None or stamp == self._stamp:
            return stamp is not None
        try:
            return bool(self._connection.execute(queries.STAMP).get == stamp[2:])
        except apsw.Error:
            return False
