"""What can be wrong with a SQLite store, and how it is found out."""

from __future__ import annotations

from binascii import crc32
from itertools import islice

import apsw

from tildone.log import codec
from tildone.log.health import Finding, Health
from tildone.stores.sqlite.schema import SCHEMA_VERSION, from_sql, schema_version, to_sql
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Tell = Callable[[int, int], None]

MAX_FINDINGS = 20
"""How many flaws are told: with so many, what is to be done is the same as with more."""

_REMEDY = "put a backup back: tildone restore FILE"
_UPDATE = "any other command does that; a backup first can't hurt: tildone backup"

_ALL = "SELECT session, id, parent, at, body, crc FROM events ORDER BY seq"
_SESSIONS = "SELECT name, head, ahead, events, created, updated, newest FROM sessions"
_TOTALS = "SELECT count(*), (SELECT count(*) FROM events) FROM sessions"
_WRITTEN = "SELECT count(*), min(seq), max(seq) FROM events WHERE session = ?"
_AT = "SELECT at FROM events WHERE seq = ?"
_KNOWN = "SELECT 1 FROM events WHERE session = ? AND id = ?"
_TORN_OFF = """
SELECT session, id, parent FROM events AS child WHERE parent IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM events WHERE session = child.session AND id = child.parent AND seq < child.seq)
"""
_STRAY = "SELECT DISTINCT session FROM events WHERE session NOT IN (SELECT name FROM sessions)"


def findings(connection: apsw.Connection, path: str, tell: Tell | None = None) -> Iterator[Finding]:
    """What is to be said of a store. `tell` hears how far it is looked through."""
    version = schema_version(connection, path)
    yield Finding(Health.FINE, f"SQLite {apsw.sqlite_lib_version()}, schema {version}")
    if version < SCHEMA_VERSION:
        yield Finding(Health.ODD, f"the store has yet to be brought up to schema {SCHEMA_VERSION}", _UPDATE)
    found = 0
    try:
        # An older store is looked through when it has become one of today.
        for flaw in islice(
            integrity_errors(connection, tell) if version == SCHEMA_VERSION else _broken_pages(connection),
            MAX_FINDINGS + 1,
        ):
            found += 1
            yield Finding(Health.BAD, "there is more of that" if found > MAX_FINDINGS else flaw, _REMEDY)
    except (apsw.Error, UnicodeDecodeError) as error:
        found += 1
        yield Finding(Health.BAD, f"the rest can't be read: {error}", _REMEDY)
    if not found:
        sessions, events = connection.execute(_TOTALS).get
        yield Finding(Health.FINE, f"{_many(sessions, 'session')} and {_many(events, 'event')}, all of them whole")


def integrity_errors(connection: apsw.Connection, tell: Tell | None = None) -> Iterator[str]:
    """What does not fit together, one sentence each; nothing when all is well."""
    yield from _broken_pages(connection)
    yield from _misread(connection, tell)
    yield from _torn_off(connection)
    for row in connection.execute(_SESSIONS):
        yield from _misplaced(connection, row)


def _broken_pages(connection: apsw.Connection) -> Iterator[str]:
    for (said,) in connection.execute(f"PRAGMA integrity_check({MAX_FINDINGS})"):
        if said != "ok":
            yield f"SQLite finds: {said}"


def _misread(connection: apsw.Connection, tell: Tell | None) -> Iterator[str]:
    """Events that are not what was written."""
    total = connection.execute("SELECT count(*) FROM events").get
    for number, (session, event_id, parent, at, body, crc) in enumerate(connection.execute(_ALL), 1):
        name = f"event {from_sql(event_id)!r} of session {from_sql(session)!r}"
        if tell is not None:
            tell(number, total)
        try:
            event = codec.decode(body)
        except codec.UndecodableEvent:
            yield f"{name} can't be read"
            continue
        if crc is not None and crc32(body.encode()) != crc:
            yield f"{name} is not what was written"
        elif (event.id, event.parent, event.at) != (
            from_sql(event_id),
            parent if parent is None else from_sql(parent),
            at,
        ):
            yield f"{name} is listed as something else than it is"


def _torn_off(connection: apsw.Connection) -> Iterator[str]:
    for session, event_id, parent in connection.execute(_TORN_OFF):
        name = f"event {from_sql(event_id)!r} of session {from_sql(session)!r}"
        yield f"{name} hangs under {from_sql(parent)!r}, which is not there"
    for (session,) in connection.execute(_STRAY):
        yield f"events of session {from_sql(session)!r} are there, the session is not"


def _misplaced(connection: apsw.Connection, row: tuple[Any, ...]) -> Iterator[str]:
    """What a session says of itself, against its events."""
    name, head, ahead, events, created, updated, newest = row
    shown = f"session {from_sql(name)!r}"
    count, *ends = connection.execute(_WRITTEN, (name,)).get
    if count != events:
        yield f"{shown} should have {_many(events, 'event')}, and {count:,} are there"
    elif (created, updated, newest) != (*(connection.execute(_AT, (seq,)).get for seq in ends), ends[1]):
        yield f"{shown} says wrongly when it was written to"
    if head is not None and connection.execute(_KNOWN, (name, head)).get is None:
        yield f"{shown} stands at {from_sql(head)!r}, which is not there"
    for event_id in _way_forward(ahead):
        if event_id is None or connection.execute(_KNOWN, (name, to_sql(event_id))).get is None:
            yield f"{shown} has a way forward that leads nowhere"
            return


def _way_forward(ahead: str) -> list[str | None]:
    try:
        way = codec.parse(ahead)
    except ValueError:
        return [None]
    return way if isinstance(way, list) and all(isinstance(step, str) for step in way) else [None]


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
