"""The schema of a SQLite store: recognising a file as a store, creating it, and migrating it.

`application_id` identifies a file as a tildone store, `user_version` is the version of its schema. The migrations in
`migrations/*.sql` run in one transaction: of several processes that try at once, the first one makes the changes. An
older tildone refuses a newer schema.
"""

from __future__ import annotations

import os
from time import monotonic, sleep

import apsw

from tildone.errors import NotFound, RunFenced, StoreDamaged, StoreTooNew
from tildone.stores.sqlite import queries
from tildone.stores.sqlite.failures import damaged
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from tildone.log.fleet.lease import RunFence

    Stamp = tuple[int, int, int, int]

SCHEMA_VERSION = 8
FIRST_VERSION_WITH_MARK = 2
APPLICATION_ID = 0x746C646E  # "tldn"
HEAD_MOVED = "the head moved"  # the message of a trigger in the schema
MIGRATIONS = os.path.join(os.path.dirname(__file__), "migrations")

_SQLITE_MAGIC = b"SQLite format 3\0"
_RETRY_SECONDS = 0.005


class Transaction:
    """`with Transaction(connection)`: a write transaction. Other writers wait until it ends.

    With a `fence`, it begins only while the lease of that run is held. apsw's own `with connection` would block every
    thread of the process while it waits for the lock.

    Raises:
        RunFenced: the run has passed to another worker, or has ended.
    """

    def __init__(self, connection: apsw.Connection, fence: RunFence | None = None) -> None:
        self._connection = connection
        self._fence = fence

    def __enter__(self) -> None:
        # A transaction that reads first and writes later may fail at once with SQLITE_BUSY, whatever the timeout.
        self._connection.execute("BEGIN IMMEDIATE")
        fence = self._fence
        if fence and not self._connection.execute(queries.HOLDS, (fence.run, fence.hand, fence.epoch)).get:
            self._connection.execute("ROLLBACK")
            raise RunFenced(fence.run)

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


def opened_or_created(path: str) -> apsw.Connection:
    """Open the file at `path`; without one, create it and its folder. Only the user can read what is created.

    SQLite gives the files that it adds the permissions of this one.
    """
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    except apsw.CantOpenError:
        # If the file exists now, another process has created it since.
        if not os.path.exists(path):
            # Late, because nearly every store exists.
            from tildone.files.private import make_private_folder, open_private  # noqa: PLC0415  see above

            make_private_folder(os.path.dirname(path))
            os.close(open_private(path, os.O_RDWR | os.O_CREAT))
        return apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    if connection.readonly("main"):
        # SQLite opens a file only for reading if the first attempt fails. The reason may be that the file did not exist
        # yet, and another process created it before SQLite's second attempt.
        connection.close()
        return apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    return connection


def page_counter(pages: list[int]) -> Callable[[apsw.Connection, str, int], int]:
    """Return a WAL hook that stores the log's page count in `pages`. A reference to the file would be a cycle."""

    def committed(_connection: apsw.Connection, _name: str, count: int) -> int:
        pages[0] = count
        return apsw.SQLITE_OK

    return committed


def schema_version(connection: apsw.Connection, path: str) -> int:
    """Return the schema version of a store.

    Raises:
        StoreDamaged: the file is not a store.
        StoreTooNew: a newer tildone wrote it.
    """
    return _checked_version(*_version_and_application(connection), path)


def migrate(connection: apsw.Connection, path: str, timeout: float, *, had_log: bool) -> None:
    """Make the file a store of the current schema: create one in an empty file, migrate an older one.

    If the file had no log when it was opened (`had_log`), its current stamp can be recorded.

    Raises:
        StoreDamaged: the file is not a store.
        StoreTooNew: a newer tildone wrote it.
    """
    version, application = _version_and_application(connection)
    if not version:
        if not application and _is_empty(connection):
            _create(connection, path, timeout)
        # Read again even if not empty: another process may have created the store since.
        version, application = _version_and_application(connection)
    if _checked_version(version, application, path) < SCHEMA_VERSION:
        with Transaction(connection):
            version = schema_version(connection, path)
            _run_migrations(connection, version)
            if not had_log or version < FIRST_VERSION_WITH_MARK:
                record_stamp(connection, path)
    if connection.execute("PRAGMA journal_mode").get != "wal":
        try:
            # The store was replaced by a backup, and backups are not in WAL mode.
            _enable_wal(connection, timeout)
        except apsw.ReadOnlyError:
            return


def prepare_reading(connection: apsw.Connection, path: str) -> None:
    """Check that the file is a store, and set the connection up to read it. An older schema is read as it is.

    Raises:
        NotFound: the file is empty, as it is while another process creates a store in it.
        StoreDamaged: the file is not a store.
        StoreTooNew: a newer tildone wrote it.
    """
    if _version_and_application(connection) == (0, 0) and _is_empty(connection):
        raise NotFound(f"there is no store at {path} yet")
    for version in range(schema_version(connection, path), SCHEMA_VERSION):
        connection.execute(queries.READ_OLDER_SCHEMAS[version])
    connection.execute("PRAGMA query_only = 1")


def to_sql(text: str | None) -> str | bytes | None:
    """Return text as SQLite can store it: as bytes if a lone surrogate cannot be encoded in UTF-8."""
    if text is None or text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def from_sql(stored: object) -> str:
    """Reverse `to_sql`. A value of another type, which only a damaged store contains, becomes its `str`."""
    return stored.decode("utf-8", "surrogatepass") if isinstance(stored, bytes) else str(stored)


def record_stamp(connection: apsw.Connection, path: str) -> Stamp | None:
    """Record the stamp of the file, inside a transaction, and return it."""
    stamp = stamp_of(path)
    if stamp is not None:
        connection.execute(queries.RECORD_STAMP, {"size": stamp[2], "written": stamp[3]})
    return stamp


def stamp_of(path: str) -> Stamp | None:
    """Return device, inode, size and modification time (ns) of the file at `path`; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def has_log(path: str) -> bool:
    """Return whether there is a write-ahead log beside the file at `path`."""
    try:
        return os.stat(f"{path}-wal").st_size > 0
    except (OSError, ValueError):
        return False


def is_foreign_database(path: str) -> bool:
    """Return whether the header of a file identifies it as a SQLite database of another program."""
    try:
        with open(path, "rb") as file:
            header = file.read(72)
    except OSError:
        return False
    return header.startswith(_SQLITE_MAGIC) and header[68:72] != APPLICATION_ID.to_bytes(4, "big")


def migrations() -> list[str]:
    """Return the SQL of every migration, in order; the first creates the schema."""
    texts = []
    for name in sorted(os.listdir(MIGRATIONS)):
        with open(os.path.join(MIGRATIONS, name), encoding="utf-8") as file:
            texts.append(file.read())
    return texts


def _create(connection: apsw.Connection, path: str, timeout: float) -> None:
    """Create a store in an empty file. Several processes may try at once."""
    _enable_wal(connection, timeout)
    with Transaction(connection):
        if _is_empty(connection):
            _run_migrations(connection, 0)
            record_stamp(connection, path)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _run_migrations(connection: apsw.Connection, version: int) -> None:
    for migration in migrations()[version:SCHEMA_VERSION]:
        connection.execute(migration)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _version_and_application(connection: apsw.Connection) -> tuple[int, int]:
    """Return `user_version` and `application_id`.

    The order matters: if another process creates the store between the two reads, the file still looks like a store.
    """
    return connection.execute("PRAGMA user_version").get, connection.execute("PRAGMA application_id").get


def _checked_version(version: int, application: int, path: str) -> int:
    if application != APPLICATION_ID:
        raise StoreDamaged(f"{path} is not a tildone store")
    if version < 1:
        raise damaged(path, f"it has schema {version}")
    if version > SCHEMA_VERSION:
        raise StoreTooNew(
            f"{path} was written by a newer tildone: it has schema {version}, "
            f"this one supports up to {SCHEMA_VERSION}; upgrade tildone"
        )
    return version


def _is_empty(connection: apsw.Connection) -> bool:
    return not connection.execute("SELECT * FROM sqlite_schema LIMIT 1").get


def _enable_wal(connection: apsw.Connection, timeout: float) -> None:
    """Switch to WAL mode. SQLite does not apply its busy timeout here, so this polls."""
    until = monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except apsw.BusyError:
            if monotonic() > until:
                raise
            sleep(_RETRY_SECONDS)
