"""What is done with a SQLite store as a whole: the check of a snapshot, compaction, and backups: single plain files."""

import os
from collections.abc import Iterator
from shutil import disk_usage

import apsw

from tildone.base import StoreError
from tildone.base.private import PRIVATE_FILE
from tildone.log.kept import Finding
from tildone.log.store import ProgressCallback
from tildone.stores import TIMEOUT_SECONDS
from tildone.stores.sqlite import schema as queries
from tildone.stores.sqlite.file import SqliteFile
from tildone.stores.sqlite.health import findings
from tildone.stores.sqlite.schema import SCHEMA_VERSION, schema_version, store_error
from tildone.stores.sqlite.store import SqliteStore


def findings_in_file(path: str, progress: ProgressCallback | None) -> Iterator[Finding]:
    file = SqliteFile(path, TIMEOUT_SECONDS, read_only=True)
    try:
        with file as connection:
            connection.execute("BEGIN")
            yield from findings(connection, path, progress)
    finally:
        file.close()


COMPACT_FROM_FRACTION = 10
"""The file is compacted when at least one in this many pages is unused."""


def compact(file: SqliteFile) -> int:
    """Return unused space to the file system if there is enough of it; return the number of bytes freed.

    Deletions that 10,000 changes have followed are forgotten: the change feed no longer tells them. Raises StoreError
    if the disk has no room for a temporary copy. The store is unchanged.
    """
    before = os.path.getsize(file.path)
    with file as connection:
        file.record_stamp_once()
        connection.execute(queries.FORGET_DELETIONS)
        unused, pages = (connection.execute(f"PRAGMA {what}").get for what in ("freelist_count", "page_count"))
        if unused * COMPACT_FROM_FRACTION < pages:
            return 0
        if disk_usage(os.path.dirname(file.path)).free < 2 * before:
            raise StoreError(f"not enough disk space to compact {file.path}")
        connection.execute("VACUUM")
    file.checkpoint()
    return max(0, before - os.path.getsize(file.path))


def finish_backup(path: str) -> None:
    """Convert a closed store to one plain file without a log, readable by its owner alone.

    Raises StoreError if the disk is full.
    """
    try:
        connection = apsw.Connection(path)
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.close()
    except apsw.Error as error:
        raise store_error(error, path) from error
    os.chmod(path, PRIVATE_FILE)


def open_backup(path: str, scratch: str) -> SqliteStore:
    """Open a store for reading and leave it unchanged. One of an older schema is copied to `scratch` and migrated.

    Raises NotFound if there is no such file, StoreError if it is not a store, or a newer tildone wrote it.
    """
    file = SqliteFile(os.path.abspath(path), TIMEOUT_SECONDS, read_only=True)
    try:
        with file as connection:
            if schema_version(connection, path) == SCHEMA_VERSION:
                return SqliteStore(path, read_only=True)
            copy = apsw.Connection(scratch)
            with copy.backup("main", connection, "main") as backup:
                backup.step()
            copy.close()
    finally:
        file.close()
    return SqliteStore(scratch)
