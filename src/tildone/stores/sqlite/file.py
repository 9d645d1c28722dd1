"""The SQLite file behind a store: how it is opened and let go of, when it is believed, what its driver's errors mean.

What is written goes to a log beside the file first, and is brought home into the file from time to time. Whoever does
that writes down how the file looks then. A file that looks different was written to by something else, such as `cp`
with a backup, and what the log has to add to it may not fit: it is looked through before anything is believed.
"""

from __future__ import annotations

import os
from threading import Condition
from time import monotonic, sleep

import apsw

from tildone.errors import NotFound, StoreBusy, StoreDamaged, StoreError
from tildone.stores.sqlite.schema import Transaction, migrate, record_stamp, schema_version, stamp_of
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

CHECKPOINT_PAGES = 1000
"""How many pages the log may have before it is brought home, as SQLite itself would do it."""

SETTLE_SECONDS = 1.0
"""How many seconds somebody may take to bring the log home and write down how the file looks then."""

_MARK = "SELECT size, written FROM mark"
_RETRY = 0.005


class SqliteFile:
    """An open file, for one thread at a time: `with file as connection`.

    What the driver raises in between leaves as a `StoreError`. `changed` is for those who wait for a change, and is
    told of each by whoever makes it. One that is only `looking` neither makes nor changes anything.
    """

    def __init__(self, path: str, timeout: float, *, read_only: bool = False) -> None:
        self.path = path
        self.changed = Condition()
        self._timeout = timeout
        self._read_only = read_only
        self._log = [0]
        self._ended = False
        self._connected = False
        try:
            self._open()
        except (apsw.Error, UnicodeDecodeError) as error:
            raise store_error(error, path) from error

    def __enter__(self) -> apsw.Connection:
        self.changed.acquire()
        try:
            if not self._connected or stamp_of(self.path) != self._stamp:
                self._look_again()
        except BaseException as error:
            self.changed.release()
            if isinstance(error, apsw.Error | UnicodeDecodeError):
                raise store_error(error, self.path) from error
            raise
        return self._connection

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            if self._log[0] >= CHECKPOINT_PAGES and error is None:
                self._bring_home()
        finally:
            self.changed.release()
        if isinstance(error, apsw.Error | UnicodeDecodeError):
            raise store_error(error, self.path) from error

    def __del__(self) -> None:
        # Without this the log would stay beside the file whenever a store is dropped without a word.
        try:
            self.close()
        except Exception:  # noqa: BLE001  an interpreter that is ending may have lost what this needs
            return

    def note_once(self) -> None:
        """Write down how the file looks, if that is not known to have been done: to be called before a change."""
        if not self._noted:
            self._note()

    def bring_home(self) -> None:
        """Bring the log home now, as far as nobody else is in the way."""
        with self:
            self._bring_home()

    def close(self) -> None:
        """Let go of the file. The last one to do so leaves one file and no log."""
        with self.changed:
            self._ended = True
            if self._connected:
                self._let_go()

    def _open(self) -> None:
        """Open what is at the path.

        Raises:
            StoreDamaged: it is no store, or it and its log do not fit together.
        """
        logged = _has_log(self.path)
        try:
            self._connection = self._connect(logged=logged)
        except OSError as error:
            raise StoreError(f"cannot open {self.path}: {error}") from error
        except ValueError as error:
            raise StoreError(f"cannot open {self.path!r}, which no file can be called: {error}") from error
        self._stamp = stamp_of(self.path)
        self._noted = False
        self._connected = True
        self._log[0] = 0
        self._connection.set_wal_hook(_counting(self._log))
        if logged and not self._read_only:
            self._believe()

    def _connect(self, *, logged: bool) -> apsw.Connection:
        if self._read_only and not os.path.exists(self.path):
            raise NotFound(f"there is no store at {self.path}")
        connection = _opened(
            self.path, apsw.SQLITE_OPEN_READWRITE | (0 if self._read_only else apsw.SQLITE_OPEN_CREATE)
        )
        try:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.set_busy_timeout(int(self._timeout * 1000))
            if self._read_only:
                connection.execute("PRAGMA query_only = 1")
                schema_version(connection, self.path)
            else:
                migrate(connection, self.path, self._timeout, logged=logged)
                connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _look_again(self) -> None:
        """The file is not as it was. If another process brought the log home, it says so in the file itself.

        One that was deleted or replaced is let go of: SQLite would go on writing to it, and nobody would ever read
        that again. One that was overwritten in its place is read anew, so that nothing is left in memory of before.
        """
        if self._ended:
            raise StoreError(f"{self.path} has been closed")
        if self._connected:
            found = stamp_of(self.path)
            if found is not None and self._stamp is not None and found[:2] == self._stamp[:2]:
                if self._read_only:
                    self._stamp = found
                    return
                if self._settled():
                    return
            self._drop()
        self._open()

    def _believe(self) -> None:
        """Make sure that the file and the log beside it belong together."""
        try:
            if _has_log(self.path) and not self._settled():
                self._look_through()
                self._note()
        except apsw.ReadOnlyError:
            # Nobody else will know that it was looked through, and the next one will have to do it again.
            return
        except BaseException:
            self._drop()
            raise

    def _look_through(self) -> None:
        # Late, because it is needed once in the life of a store, if ever.
        from tildone.stores.sqlite.health import integrity_errors  # noqa: PLC0415  see above

        for flaw in integrity_errors(self._connection):
            raise StoreDamaged(
                f"{self.path} was overwritten while it was in use, and does not fit its write-ahead log: {flaw}; "
                "to begin again from a backup: tildone restore FILE"
            )

    def _settled(self) -> bool:
        """Whether the file looks as was written down, or soon does: another process may be bringing the log home."""
        until = monotonic() + SETTLE_SECONDS
        seen = None
        while True:
            found = stamp_of(self.path)
            if found is None or not _has_log(self.path):
                return False
            if self._connection.execute(_MARK).get == found[2:]:
                self._stamp = found
                self._noted = True
                return True
            if found != seen:
                seen, until = found, monotonic() + SETTLE_SECONDS
            if monotonic() > until:
                return False
            sleep(_RETRY)

    def _note(self) -> None:
        with Transaction(self._connection):
            self._stamp = record_stamp(self._connection, self.path)
        self._noted = True

    def _bring_home(self) -> None:
        """Write the log into the file. It is no matter for whoever has just written if that fails: it was written."""
        self._log[0] = 0
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            self._note()
        except apsw.Error:
            self._stamp = stamp_of(self.path)
            self._noted = False

    def _drop(self) -> None:
        """Close the file and leave the log as it is."""
        self._connected = False
        self._connection.close(force=True)

    def _let_go(self) -> None:
        """Close the file, and bring the log home unless the file has become another one.

        SQLite would write the log over whatever somebody has put there meanwhile.
        """
        home = not _has_log(self.path) if self._read_only else self._is_as_written()
        if home:
            self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        self._drop()

    def _is_as_written(self) -> bool:
        found = stamp_of(self.path)
        if found is None or found == self._stamp:
            return found is not None
        try:
            return bool(self._connection.execute(_MARK).get == found[2:])
        except apsw.Error:
            return False


def _opened(path: str, flags: int) -> apsw.Connection:
    try:
        return apsw.Connection(path, flags=flags)
    except apsw.CantOpenError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        return apsw.Connection(path, flags=flags)


def _counting(log: list[int]) -> Callable[[apsw.Connection, str, int], int]:
    """Keeps count of the log's pages; apart from the file, which would otherwise hold on to itself."""

    def committed(_connection: apsw.Connection, _name: str, pages: int) -> int:
        log[0] = pages
        return apsw.SQLITE_OK

    return committed


def _has_log(path: str) -> bool:
    try:
        return os.stat(f"{path}-wal").st_size > 0
    except (OSError, ValueError):
        return False


def store_error(error: apsw.Error | UnicodeDecodeError, path: str) -> StoreError:
    """What the driver's error means to whoever uses the store."""
    match error:
        case apsw.BusyError() | apsw.LockedError() | apsw.ProtocolError():
            return StoreBusy(f"{path} is in use by another process, for longer than we wait")
        case apsw.NotADBError():
            return StoreDamaged(f"{path} is not a tildone store")
        case apsw.CorruptError() | apsw.SQLError():
            return StoreDamaged(f"{path} is damaged: {error}")
        case UnicodeDecodeError():
            return StoreDamaged(f"{path} is damaged: there is something in it that is no text")
        case apsw.FullError():
            return StoreError(f"{path} can't grow: the disk is full")
        case apsw.ReadOnlyError():
            return StoreError(f"{path} can't be written: it is read-only")
        case apsw.CantOpenError():
            why = "it is a directory" if os.path.isdir(path) else str(error)
            return StoreError(f"cannot open {path}: {why}")
        case _:
            return StoreError(f"{path}: {error}")
