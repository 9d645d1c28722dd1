"""Upkeep of a SQLite store as a whole: integrity checks, backups as single plain files, compaction."""

from __future__ import annotations

import os
from binascii import crc32
from collections.abc import Iterator
from shutil import disk_usage
from typing import Any

import apsw

from tildone.base import StoreError
from tildone.base.private import PRIVATE_FILE
from tildone.log.kept import MAX_FINDINGS, Finding, Severity, counted, error_findings
from tildone.log.store import ProgressCallback
from tildone.plan import codec
from tildone.stores import TIMEOUT_SECONDS
from tildone.stores.sqlite import schema as queries
from tildone.stores.sqlite.file import SqliteFile
from tildone.stores.sqlite.rows import redo_in
from tildone.stores.sqlite.schema import SCHEMA_VERSION, from_sql, schema_version, store_error, to_sql
from tildone.stores.sqlite.store import SqliteStore

_REMEDY = "restore a backup: tildone restore FILE"
_UPDATE = "any other command migrates it; to make a backup first: tildone backup"


def findings(connection: apsw.Connection, path: str, progress: ProgressCallback | None = None) -> Iterator[Finding]:
    """Check a store and return the findings."""
    version = schema_version(connection, path)
    yield Finding(Severity.OK, f"SQLite {apsw.sqlite_lib_version()}, schema {version}")
    if version < SCHEMA_VERSION:
        yield Finding(Severity.WARNING, f"the store has not been migrated to schema {SCHEMA_VERSION}", _UPDATE)
    # The queries need the current schema; in an older one only the pages are checked.
    current = version == SCHEMA_VERSION
    errors = integrity_errors(connection, progress) if current else _page_errors(connection)
    unreadable = (apsw.Error, UnicodeDecodeError)
    yield from error_findings(errors, _REMEDY, unreadable, lambda: connection.execute(queries.TOTALS).get)


def integrity_errors(connection: apsw.Connection, progress: ProgressCallback | None = None) -> Iterator[str]:
    """Return every inconsistency in the store, as a sentence."""
    yield from _page_errors(connection)
    yield from _event_errors(connection, progress)
    yield from _orphan_errors(connection)
    for row in connection.execute(queries.ALL_SESSIONS):
        yield from _session_errors(connection, row)


def _page_errors(connection: apsw.Connection) -> Iterator[str]:
    for (message,) in connection.execute(f"PRAGMA integrity_check({MAX_FINDINGS})"):
        if message != "ok":
            yield f"SQLite reports: {message}"


def _event_errors(connection: apsw.Connection, progress: ProgressCallback | None) -> Iterator[str]:
    """Return errors of events that cannot be decoded, or whose checksum or columns do not match their text."""
    total = connection.execute(queries.COUNT_EVENTS).get
    for number, row in enumerate(connection.execute(queries.ALL_EVENTS), 1):
        if progress is not None:
            progress(number, total)
        error = _event_error(*row)
        if error:
            yield f"event {from_sql(row[1])!r} of session {from_sql(row[0])!r} {error}"


def _event_error(_session: object, event_id: object, parent: object, at: object, body: object, crc: int | None) -> str:
    try:
        event = codec.decode(body)
    except codec.UndecodableEvent:
        return "cannot be decoded"
    if crc is not None and crc32(str(body).encode()) != crc:
        return "does not match its checksum"
    columns = from_sql(event_id), None if parent is None else from_sql(parent), at
    return "" if (event.id, event.parent, event.at) == columns else "does not match its columns"


def _orphan_errors(connection: apsw.Connection) -> Iterator[str]:
    for session, event_id, parent in connection.execute(queries.ORPHANED_EVENTS):
        name = f"event {from_sql(event_id)!r} of session {from_sql(session)!r}"
        yield f"{name} has parent {from_sql(parent)!r}, which is missing"
    for (session,) in connection.execute(queries.EVENTS_WITHOUT_SESSION):
        yield f"events of session {from_sql(session)!r} exist, the session does not"


def _session_errors(connection: apsw.Connection, row: tuple[Any, ...]) -> Iterator[str]:
    """Return errors of a session whose columns do not match its events."""
    name, head, redo, events, created, updated, newest, matches = row
    label = f"session {from_sql(name)!r}"
    count, *ends = connection.execute(queries.EVENTS_OF_SESSION, (name,)).get
    if count != events:
        yield f"{label} should have {counted(events, 'event')}, but has {count:,}"
    elif (created, updated, newest) != (*(connection.execute(queries.TIME_OF_EVENT, (n,)).get for n in ends), ends[1]):
        yield f"{label} has wrong creation or update times"
    if not matches:
        yield f"{label} has a head that does not match its checksum"
    if head is not None and connection.execute(queries.EVENT_EXISTS, (name, head)).get is None:
        yield f"{label} has head {from_sql(head)!r}, which is missing"
    undone = redo_in(redo)
    for event_id in (None,) if undone is None else undone:
        if event_id is None or connection.execute(queries.EVENT_EXISTS, (name, to_sql(event_id))).get is None:
            yield f"{label} has a damaged redo list"
            return


def findings_in_file(path: str, progress: ProgressCallback | None) -> Iterator[Finding]:
    """Check one snapshot of a file on a connection of its own, and yield the findings."""
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
