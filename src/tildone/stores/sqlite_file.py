"""The SQLite file behind a store: how it is opened, made and recognised, and what its driver's errors mean."""

import os
from threading import Condition
from time import monotonic, sleep

import apsw

from tildone.errors import StoreBusy, StoreDamaged, StoreError, StoreTooNew

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

SCHEMA = 1
APPLICATION_ID = 0x746C646E  # "tldn"
HEAD_MOVED = "the head moved"  # as the trigger below says it

# Names and ids are of any type because text with half a surrogate pair is kept as bytes. What an event does to its
# session is said here, so that one statement is the whole of an append, and nobody can write past the head.
SCHEMA_SQL = """
CREATE TABLE sessions (
    name ANY PRIMARY KEY,
    head ANY,
    ahead TEXT NOT NULL,
    events INTEGER NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    newest INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    session ANY NOT NULL,
    id ANY NOT NULL,
    parent ANY,
    at INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (session, id)
) STRICT;

CREATE TRIGGER event_hangs_under_head BEFORE INSERT ON events
WHEN NEW.parent IS NOT (SELECT head FROM sessions WHERE name = NEW.session)
BEGIN
    SELECT RAISE(ABORT, 'the head moved');
END;

CREATE TRIGGER event_becomes_head AFTER INSERT ON events
BEGIN
    INSERT INTO sessions (name, head, ahead, events, created, updated, newest)
        VALUES (NEW.session, NEW.id, '[]', 1, NEW.at, NEW.at, NEW.seq)
    ON CONFLICT (name) DO UPDATE SET
        head = NEW.id, ahead = '[]', events = events + 1, updated = NEW.at, newest = NEW.seq;
END;
"""

_RETRY = 0.005


class SqliteFile:
    """An open file, for one thread at a time: `with file as connection`.

    What the driver raises in between leaves as a `StoreError`. `changed` is for those who wait for a change, and is
    told of each by whoever makes it.
    """

    def __init__(self, path: str, patience: float) -> None:
        self.path = path
        self.changed = Condition()
        self._patience = patience
        self._open()

    def __enter__(self) -> apsw.Connection:
        self.changed.acquire()
        try:
            if _identity(self.path) != self._identity:
                self._reopen()
        except BaseException:
            self.changed.release()
            raise
        return self._connection

    def __exit__(
        self, _kind: "type[BaseException] | None", error: BaseException | None, _trace: "TracebackType | None"
    ) -> None:
        self.changed.release()
        if isinstance(error, apsw.Error):
            raise _translated(error, self.path) from error

    def close(self) -> None:
        """Let go of the file."""
        with self.changed:
            self._connection.close(force=True)

    def _open(self) -> None:
        try:
            self._connection = _connected(self.path, self._patience)
        except apsw.Error as error:
            raise _translated(error, self.path) from error
        except OSError as error:
            raise StoreError(f"cannot open {self.path}: {error}") from error
        except ValueError as error:
            raise StoreError(f"cannot open {self.path!r}, which no file can be called: {error}") from error
        self._identity = _identity(self.path)

    def _reopen(self) -> None:
        """Go over to the file that is at the path now.

        The one that was opened has been deleted or replaced. SQLite would go on writing to it, and nobody would
        ever read that again.
        """
        self._connection.close(force=True)
        self._open()


class Transaction:
    """A change of the file: all of it or nothing. Others who want to write wait for its end.

    The driver's own `with connection` would keep every thread of the process from running while it waits.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        # One that begins by reading and then wants to write may be refused at once, whatever the timeout.
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(
        self, kind: "type[BaseException] | None", _error: BaseException | None, _trace: "TracebackType | None"
    ) -> None:
        try:
            if kind is None:
                self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


def _connected(path: str, patience: float) -> apsw.Connection:
    try:
        connection = apsw.Connection(path)
    except apsw.CantOpenError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        connection = apsw.Connection(path)
    try:
        connection.set_busy_timeout(int(patience * 1000))
        _recognise(connection, path, patience)
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def _recognise(connection: apsw.Connection, path: str, patience: float) -> None:
    """Make sure that this is a store; an empty file becomes one."""
    version, application = _marks(connection)
    if not version and not application:
        if _is_empty(connection):
            _furnish(connection, patience)
        # Looked at again in any case: somebody else may have been making a store of it.
        version, application = _marks(connection)
    if application != APPLICATION_ID:
        raise StoreDamaged(f"{path} is not a tildone store")
    if version > SCHEMA:
        raise StoreTooNew(f"{path} has schema {version}; this tildone knows {SCHEMA}")


def _marks(connection: apsw.Connection) -> tuple[int, int]:
    """By which schema the file was made, and whose it is.

    In this order: who gets them from before and after the making of a store does not take it for another's.
    """
    return connection.execute("PRAGMA user_version").get, connection.execute("PRAGMA application_id").get


def _is_empty(connection: apsw.Connection) -> bool:
    return not connection.execute("SELECT * FROM sqlite_schema LIMIT 1").get


def _furnish(connection: apsw.Connection, patience: float) -> None:
    """Make a store of an empty file. Many may try at once."""
    _keep_a_wal(connection, patience)
    with Transaction(connection):
        if _is_empty(connection):
            connection.execute(SCHEMA_SQL)
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _keep_a_wal(connection: apsw.Connection, patience: float) -> None:
    """Have changes go through a write-ahead log. SQLite does not wait by itself for others who do the same."""
    until = monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except apsw.BusyError:
            if monotonic() > until:
                raise
            sleep(_RETRY)


def _identity(path: str) -> tuple[int, int] | None:
    """Which file is at `path`; None when there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _translated(error: apsw.Error, path: str) -> StoreError:
    match error:
        case apsw.BusyError() | apsw.LockedError() | apsw.ProtocolError():
            return StoreBusy(f"{path} is in use by another process, for longer than we wait")
        case apsw.NotADBError():
            return StoreDamaged(f"{path} is not a tildone store")
        case apsw.CorruptError() | apsw.SQLError():
            return StoreDamaged(f"{path} is damaged: {error}")
        case apsw.FullError():
            return StoreError(f"{path} can't grow: the disk is full")
        case apsw.ReadOnlyError():
            return StoreError(f"{path} can't be written: it is read-only")
        case apsw.CantOpenError():
            why = "it is a directory" if os.path.isdir(path) else str(error)
            return StoreError(f"cannot open {path}: {why}")
        case _:
            return StoreError(f"{path}: {error}")
