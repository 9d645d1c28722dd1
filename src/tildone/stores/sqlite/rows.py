"""Rows of a SQLite store: as values, unless a checksum or a type shows damage; and new ones for events."""

from __future__ import annotations

from binascii import crc32

import apsw

from tildone.base import TYPE_CHECKING, HeadMoved, StoreError, UnknownEvent
from tildone.plan import codec
from tildone.plan.events import Event, SessionChange, SessionHead, SessionInfo
from tildone.stores.sqlite import schema as queries
from tildone.stores.sqlite.schema import HEAD_MOVED, damaged, from_sql, to_sql

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def event_in(row: tuple[Any, ...], path: str) -> Event:
    """Return the event of a row with its text and its checksum, which older events lack.

    Raises StoreDamaged if the text is not what was written.
    """
    body, crc = row
    try:
        event = codec.decode(body)
    except codec.UndecodableEvent as error:
        raise damaged(path, error) from error
    if crc is not None and crc32(body.encode()) != crc:
        raise damaged(path, f"event {event.id!r} does not match its checksum")
    return event


def session_head_in(row: tuple[Any, ...], session: str, path: str) -> SessionHead:
    """Return the head of a row of the query SESSION_HEAD. Raises StoreDamaged if it is not what was written."""
    head, redo, matches = row
    if not matches:
        raise damaged(path, f"the head of session {session!r} does not match its checksum")
    events = () if redo == "[]" else redo_in(redo)
    if events is None:
        raise damaged(path, f"the redo list of session {session!r} cannot be decoded")
    return SessionHead(None if head is None else from_sql(head), events)


def redo_in(redo: str) -> tuple[str, ...] | None:
    try:
        events = codec.parse_strictly(redo)
    except ValueError:
        return None
    return tuple(events) if isinstance(events, list) and all(isinstance(each, str) for each in events) else None


def info_in(row: tuple[Any, ...], path: str) -> SessionInfo:
    """Return the entry of a list of sessions. Raises StoreDamaged if a number of it is none."""
    name, *numbers = row
    if not all(isinstance(number, int) for number in numbers):
        raise damaged(path, f"session {from_sql(name)!r} has no valid times")
    return SessionInfo(from_sql(name), *numbers)


def change_in(row: tuple[Any, ...]) -> SessionChange:
    name, head, revision, exists = row
    return SessionChange(from_sql(name), None if head is None else from_sql(head), revision, exists=bool(exists))


def insert_event(connection: apsw.Connection, session: str, event: Event, seen_by: str) -> tuple[str, int]:
    """Append an event, and record that a reader has seen it, if one is named. Return its text and its checksum.

    Raises HeadMoved if `event.parent` is no longer the head, StoreError if the session has an event with this id.
    """
    body = codec.encode(event)
    row = (to_sql(session), to_sql(event.id), to_sql(event.parent), event.at, body, crc32(body.encode()))
    try:
        if seen_by:
            connection.execute(queries.APPEND_SEEN, (*row, to_sql(seen_by)))
        else:
            connection.execute(queries.APPEND, row)
    except apsw.ConstraintError as error:
        if str(error) == HEAD_MOVED:
            raise HeadMoved(session) from error
        raise StoreError(f"{session!r} has an event {event.id!r} already") from error
    return body, row[-1]


def set_head(connection: apsw.Connection, name: str | bytes | None, to: SessionHead) -> None:
    """Set the head and redo stack of the session with this name in SQL. Raises UnknownEvent if `to` is not in it."""
    head = to_sql(to.head)
    if to.head is not None and connection.execute(queries.EVENT_EXISTS, (name, head)).get is None:
        raise UnknownEvent(to.head)
    connection.execute(queries.MOVE_HEAD, (head, codec.dump(to.redo), name))


def insert_unknown(connection: apsw.Connection, session: str, events: Iterable[Event]) -> int:
    """Insert the new events and return how many. The head is moved to each parent first, as the trigger requires."""
    name, new = to_sql(session), 0
    head: str | bytes | None = None
    for event in events:
        event_id, parent, body = to_sql(event.id), to_sql(event.parent), codec.encode(event)
        row = connection.execute(queries.EVENT, (name, event_id)).get
        if row is not None:
            # An older tildone may have encoded the same event differently.
            if row[0] != body and codec.decode(row[0]) != event:
                raise StoreError(f"{session!r} has a different event {event.id!r}")
            continue
        if parent is None or parent != head:
            if parent is not None and connection.execute(queries.EVENT_EXISTS, (name, parent)).get is None:
                raise UnknownEvent(event.parent)
            connection.execute(queries.MOVE_HEAD, (parent, "[]", name))
        connection.execute(queries.APPEND, (name, event_id, parent, event.at, body, crc32(body.encode())))
        head = event_id
        new += 1
    return new
