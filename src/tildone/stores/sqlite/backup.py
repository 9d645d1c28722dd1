"""Backups of SQLite stores: single plain files."""

import os

import apsw

from tildone.base.private import PRIVATE_FILE
from tildone.stores import TIMEOUT_SECONDS
from tildone.stores.sqlite.file import SqliteFile
from tildone.stores.sqlite.schema import SCHEMA_VERSION, schema_version, store_error
from tildone.stores.sqlite.store import SqliteStore


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
