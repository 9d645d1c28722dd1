"""Backups: a SQLite store as one plain file, which may be older than this tildone and on a disk that is read-only."""

from __future__ import annotations

import os

import apsw

from tildone.stores.sqlite.file import SqliteFile, store_error
from tildone.stores.sqlite.schema import SCHEMA_VERSION, schema_version
from tildone.stores.sqlite.store import TIMEOUT_SECONDS, SqliteStore


def finish_backup(path: str) -> None:
    """Make one plain file of a closed store: no log beside it, and nobody else's business.

    Raises:
        StoreError: there is no room for it.
    """
    try:
        connection = apsw.Connection(path)
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.close()
    except apsw.Error as error:
        raise store_error(error, path) from error
    os.chmod(path, 0o600)


def open_backup(path: str, scratch: str) -> SqliteStore:
    """A store to read from that is left as it is. An older one is brought up to date in a copy, at `scratch`.

    Raises:
        NotFound: there is none.
        StoreError: it is no store, or it was written by a newer tildone.
    """
    file = SqliteFile(os.path.abspath(path), TIMEOUT_SECONDS, read_only=True)
    try:
        with file as connection:
            if schema_version(connection, path) == SCHEMA_VERSION:
                return SqliteStore(path, read_only=True)
            copy = apsw.Connection(scratch)
            with copy.backup("main", connection, "main") as work:
                work.step()
            copy.close()
    finally:
        file.close()
    return SqliteStore(scratch)
