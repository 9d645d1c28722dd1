"""What a SQLite store is made of: how a file is recognised as one, made into one, and brought up to date."""

from __future__ import annotations

import os
from time import monotonic, sleep

import apsw

from tildone.errors import StoreDamaged, StoreTooNew
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    Stamp = tuple[int, int, int, int]

SCHEMA_VERSION = 2
FIRST_VERSION_WITH_MARK = 2  # the first schema with a mark
APPLICATION_ID = 0x746C646E  # "tldn"
HEAD_MOVED = "the head moved"  # as a trigger of the schema says it
MIGRATIONS = os.path.join(os.path.dirname(__file__), "migrations")

_MAGIC = b"SQLite format 3\0"
_NOTE = "UPDATE mark SET size = :size, written = :written WHERE size != :size OR written != :written"
_RETRY = 0.005


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
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


def schema_version(connection: apsw.Connection, path: str) -> int:
    """The schema of a file that is a store, if only an older one.

    Raises:
        StoreDamaged: it is something else.
        StoreTooNew: it was made by a newer tildone.
    """
    return _known(*_marks(connection), path)


def migrate(connection: apsw.Connection, path: str, timeout: float, *, logged: bool) -> None:
    """Make sure that this is a store of today: an empty file becomes one, an older one is brought up to date.

    Where it was not `logged`, there was no log beside the file, and how it looks can be written down as it is.

    Raises:
        StoreDamaged: it is something else.
        StoreTooNew: it was made by a newer tildone.
    """
    version, application = _marks(connection)
    if not version and not application:
        if _is_empty(connection):
            _begin(connection, path, timeout)
        # Looked at again in any case: somebody else may have been making a store of it.
        version, application = _marks(connection)
    if _known(version, application, path) < SCHEMA_VERSION:
        with Transaction(connection):
            version = schema_version(connection, path)
            _take_steps(connection, version)
            if not logged or version < FIRST_VERSION_WITH_MARK:
                record_stamp(connection, path)
    if connection.execute("PRAGMA journal_mode").get != "wal":
        try:
            # It is a backup that was put in the place of a store.
            _keep_a_wal(connection, timeout)
        except apsw.ReadOnlyError:
            return


def to_sql(text: str | None) -> str | bytes | None:
    """Text as SQLite can hold it: bytes, when half a surrogate pair makes it unfit for UTF-8."""
    if text is None or text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def from_sql(held: object) -> str:
    """Text as it was before it was kept; a value that nobody kept, as it is written."""
    return held.decode("utf-8", "surrogatepass") if isinstance(held, bytes) else str(held)


def record_stamp(connection: apsw.Connection, path: str) -> Stamp | None:
    """Write down how the file looks, inside a transaction; what was seen."""
    found = stamp_of(path)
    if found is not None:
        connection.execute(_NOTE, {"size": found[2], "written": found[3]})
    return found


def stamp_of(path: str) -> Stamp | None:
    """Which file is at `path`, how large it is, and when it was written to; None when there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def is_foreign_database(path: str) -> bool:
    """Whether the file is, by its first bytes, a whole SQLite database of some other program."""
    try:
        with open(path, "rb") as file:
            head = file.read(72)
    except OSError:
        return False
    return head.startswith(_MAGIC) and head[68:72] != APPLICATION_ID.to_bytes(4, "big")


def migrations() -> list[str]:
    """The ways from each schema to the next, the first one from nothing."""
    texts = []
    for name in sorted(os.listdir(MIGRATIONS)):
        with open(os.path.join(MIGRATIONS, name), encoding="utf-8") as file:
            texts.append(file.read())
    return texts


def _begin(connection: apsw.Connection, path: str, timeout: float) -> None:
    """Make a store of an empty file. Many may try at once."""
    _keep_a_wal(connection, timeout)
    with Transaction(connection):
        if _is_empty(connection):
            _take_steps(connection, 0)
            record_stamp(connection, path)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _take_steps(connection: apsw.Connection, version: int) -> None:
    for step in migrations()[version:SCHEMA_VERSION]:
        connection.execute(step)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _marks(connection: apsw.Connection) -> tuple[int, int]:
    """By which schema the file was made, and whose it is.

    In this order: who gets them from before and after the making of a store does not take it for another's.
    """
    return connection.execute("PRAGMA user_version").get, connection.execute("PRAGMA application_id").get


def _known(version: int, application: int, path: str) -> int:
    if application != APPLICATION_ID:
        raise StoreDamaged(f"{path} is not a tildone store")
    if version > SCHEMA_VERSION:
        raise StoreTooNew(
            f"{path} was written by a newer tildone: it has schema {version}, this one knows {SCHEMA_VERSION}; "
            "install the newer one here, too"
        )
    return version


def _is_empty(connection: apsw.Connection) -> bool:
    return not connection.execute("SELECT * FROM sqlite_schema LIMIT 1").get


def _keep_a_wal(connection: apsw.Connection, timeout: float) -> None:
    """Have changes go through a write-ahead log. SQLite does not wait by itself for others who do the same."""
    until = monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except apsw.BusyError:
            if monotonic() > until:
                raise
            sleep(_RETRY)
