"""The statements of a PostgreSQL store by name; events, heads and names as their parameters and rows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from typing import Any

from tildone.base import TYPE_CHECKING, HeadMoved, StoreError, UnknownEvent
from tildone.plan import codec
from tildone.plan.events import Event, PlanChanged, SessionHead
from tildone.stores.leasing import CHANGING_COLUMNS, COLUMNS

if TYPE_CHECKING:
    from psycopg import Connection

Row = dict[str, Any]


MAX_KEY_BYTES = 1000
"""PostgreSQL limits an index entry to about 2700 bytes, and the payload of NOTIFY to 8000."""

SHORTENED = "\\#"
"""Prefix of a shortened name; no other name begins with it."""

_READABLE_CHARACTERS = 60

_REJECTED = re.compile("[\\\\\0\ud800-\udfff]")
_ESCAPES = {"\\": "\\\\", "\0": "\\0"}
_UNESCAPED = {escape: character for character, escape in _ESCAPES.items()}
_ESCAPE = re.compile(r"\\(\\|0|u[0-9a-f]{4})")


def to_sql(text: str) -> str:
    """Escape a text for PostgreSQL; different texts stay different."""
    return _REJECTED.sub(lambda found: _ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04x}", text)


def from_sql(stored: str) -> str:
    if "\\" not in stored:
        return stored
    return _ESCAPE.sub(lambda found: _UNESCAPED.get(found[0]) or chr(int(found[1][1:], 16)), stored)


def key(text: str) -> str:
    """Return the key under which a text is indexed: escaped, and if long, shortened to a digest and its beginning."""
    escaped = to_sql(text)
    if len(escaped) <= MAX_KEY_BYTES // 4:
        return escaped
    encoded = escaped.encode()
    if len(encoded) <= MAX_KEY_BYTES:
        return escaped
    return f"{SHORTENED}{sha256(encoded).hexdigest()} {escaped[:_READABLE_CHARACTERS]}"


FOLDER = os.path.dirname(__file__)

CONTEXT = r"""
    tildone.clock(), s.head, CASE WHEN starts_with(s.head, '\#') THEN
        (SELECT e.body FROM tildone.events e WHERE e.session = s.id AND e.id = s.head)
    END
"""
"""What a change of a lease needs besides the lease."""

_NAMED = re.compile(rb"^-- name: (\w+)$", re.MULTILINE)
_NUMBERED = re.compile(r"(\d{4})_(\w+)\.sql")


def query(name: str) -> bytes:
    return _queries()[name]


@cache
def migrations() -> tuple[tuple[int, str, bytes], ...]:
    """Return every migration in order: number, name, statements."""
    folder = os.path.join(FOLDER, "migrations")
    names = [_NUMBERED.fullmatch(file) for file in sorted(os.listdir(folder))]
    return tuple((int(name[1]), name[2], _read("migrations", name[0])) for name in names if name)


@cache
def _queries() -> dict[str, bytes]:
    words = {
        "COLUMNS": ", ".join(
            "coalesce(s.long_name, l.session)" if name == "session" else f"l.{name}" for name in COLUMNS
        ),
        "CONTEXT": CONTEXT,
        "NAMES": ", ".join(COLUMNS),
        "PARAMETERS": ", ".join(f"%({name})s" for name in COLUMNS),
        "CHANGES": ", ".join(f"{name} = %({name})s" for name in CHANGING_COLUMNS),
    }
    text = _read("fleet.sql")
    for word, names in words.items():
        text = text.replace(word.encode(), names.encode())
    # What stands before the first name of a file is a comment.
    pieces = _NAMED.split(_read("queries.sql"))[1:] + _NAMED.split(text)[1:]
    return {name.decode(): text.strip() for name, text in zip(pieces[::2], pieces[1::2], strict=True)}


def _read(*names: str) -> bytes:
    with open(os.path.join(FOLDER, *names), "rb") as file:
        return file.read().replace(b"\r\n", b"\n")


MAX_BATCH_EVENTS = 1000

_COLUMNS = {"id": "ids", "parent": "parents", "at": "ats", "snapshot": "snapshots", "body": "bodies"}


def session_row(session: str) -> Row:
    """Return the parameters that name a session, which the query may create."""
    name = key(session)
    return {"session": name, "long_name": to_sql(session) if name.startswith(SHORTENED) else None}


def row_of(event: Event) -> Row:
    return {
        "id": key(event.id),
        "parent": key_or_none(event.parent),
        "at": event.at,
        "snapshot": isinstance(event.fact, PlanChanged),
        "body": codec.encode(event),
    }


def seen_row(reader: str, head: str | None) -> Row:
    return {"reader": key(reader), "seen": None if head is None else to_sql(head)}


def batches(events: Iterable[Event], batch_bytes: int) -> Iterator[tuple[list[Event], Row]]:
    """Split events into batches of about `batch_bytes`; return each with its rows as one array per column."""
    batch: list[Event] = []
    rows: list[Row] = []
    size = 0
    for event in events:
        batch.append(event)
        rows.append(row_of(event))
        size += len(rows[-1]["body"])
        if size >= batch_bytes or len(batch) >= MAX_BATCH_EVENTS:
            yield batch, _columns(rows)
            batch, rows, size = [], [], 0
    if batch:
        yield batch, _columns(rows)


def head_row(to: SessionHead) -> Row:
    return {"head": key_or_none(to.head), "ahead": codec.dump(to.redo)}


def key_or_none(text: str | None) -> str | None:
    return None if text is None else key(text)


def event_id(stored: str, body: str | None) -> str:
    """Return the id of an event from its key; if the key is shortened, `body` is the event, which contains it."""
    return from_sql(stored) if body is None else codec.decode(body).id


def scalar(connection: Connection, name: str, row: dict[str, Any]) -> str:
    """Return the single value that a query returns; empty if it returns no row."""
    result = connection.execute(query(name), row).fetchone()
    return str(result[0]) if result else ""


def raise_verdict(verdict: str, session: str, to: SessionHead) -> None:
    if verdict == "overtaken":
        raise HeadMoved(session)
    if verdict == "unknown":
        raise UnknownEvent(to.head)


def insert_unknown(connection: Connection, session: str, events: list[Event], columns: dict[str, Any]) -> int:
    """Insert the events that are not in the database yet and return how many."""
    result = connection.execute(query("import_events"), session_row(session) | columns).fetchone()
    new, orphan, other = result or (0, None, None)
    if orphan:
        raise UnknownEvent(events[orphan - 1].parent)
    if other:
        raise StoreError(f"{session!r} has a different event {events[other - 1].id!r}")
    return int(new)


def _columns(rows: list[Row]) -> Row:
    return {many: [row[one] for row in rows] for one, many in _COLUMNS.items()}
