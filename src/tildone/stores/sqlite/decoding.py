"""Rows of a SQLite store as values. What does not match its checksum, or has another type, is damage."""

from __future__ import annotations

from binascii import crc32

from tildone.log import codec
from tildone.log.tree import SessionChange, SessionHead, SessionInfo
from tildone.stores.sqlite.failures import damaged
from tildone.stores.sqlite.schema import from_sql
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from tildone.log.events import Event


def event_in(row: tuple[Any, ...], path: str) -> Event:
    """Return the event of a row with its text and its checksum, which older events lack.

    Raises:
        StoreDamaged: the text is not what was written.
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
    """Return the head of a row of the query SESSION_HEAD.

    Raises:
        StoreDamaged: it is not what was written.
    """
    head, redo, matches = row
    if not matches:
        raise damaged(path, f"the head of session {session!r} does not match its checksum")
    events = () if redo == "[]" else redo_in(redo)
    if events is None:
        raise damaged(path, f"the redo list of session {session!r} cannot be decoded")
    return SessionHead(None if head is None else from_sql(head), events)


def redo_in(redo: str) -> tuple[str, ...] | None:
    """Return the redo list of a session; None if it cannot be decoded."""
    try:
        events = codec.parse_strictly(redo)
    except ValueError:
        return None
    return tuple(events) if isinstance(events, list) and all(isinstance(each, str) for each in events) else None


def info_in(row: tuple[Any, ...], path: str) -> SessionInfo:
    """Return the entry of a list of sessions.

    Raises:
        StoreDamaged: a number of it is none.
    """
    name, *numbers = row
    if not all(isinstance(number, int) for number in numbers):
        raise damaged(path, f"session {from_sql(name)!r} has no valid times")
    return SessionInfo(from_sql(name), *numbers)


def change_in(row: tuple[Any, ...]) -> SessionChange:
    """Return the change of a row of the query CHANGED."""
    name, head, revision, exists = row
    return SessionChange(from_sql(name), None if head is None else from_sql(head), revision, exists=bool(exists))
