"""The integrity check of a SQLite store."""

from binascii import crc32
from collections.abc import Iterator
from typing import Any

import apsw

from tildone.log.kept import MAX_FINDINGS, Finding, Severity, counted, error_findings
from tildone.log.store import ProgressCallback
from tildone.plan import codec
from tildone.stores.sqlite import schema as queries
from tildone.stores.sqlite.rows import redo_in
from tildone.stores.sqlite.schema import SCHEMA_VERSION, from_sql, schema_version, to_sql

_REMEDY = "restore a backup: tildone restore FILE"
_UPDATE = "any other command migrates it; to make a backup first: tildone backup"


def findings(connection: apsw.Connection, path: str, progress: ProgressCallback | None = None) -> Iterator[Finding]:
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
