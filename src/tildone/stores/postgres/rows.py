"""Events and heads as the parameters and rows of queries, and what the functions of the schema return."""

from __future__ import annotations

from tildone.errors import HeadMoved, StoreError, UnknownEvent
from tildone.log import codec
from tildone.log.events import PlanChanged
from tildone.stores.postgres.names import SHORTENED, from_sql, key, to_sql
from tildone.stores.postgres.queries import query
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from psycopg import Connection

    from tildone.log.events import Event
    from tildone.log.tree import SessionHead

    Row = dict[str, Any]

MAX_BATCH_EVENTS = 1000

_COLUMNS = {"id": "ids", "parent": "parents", "at": "ats", "snapshot": "snapshots", "body": "bodies"}


def session_row(session: str) -> Row:
    """Return the parameters that name a session, which the query may create."""
    name = key(session)
    return {"session": name, "long_name": to_sql(session) if name.startswith(SHORTENED) else None}


def row_of(event: Event) -> Row:
    """Return the parameters of an event."""
    return {
        "id": key(event.id),
        "parent": key_or_none(event.parent),
        "at": event.at,
        "snapshot": isinstance(event.fact, PlanChanged),
        "body": codec.encode(event),
    }


def seen_row(reader: str, head: str | None) -> Row:
    """Return the parameters of what a reader has seen."""
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
    """Return the parameters of a head to set."""
    return {"head": key_or_none(to.head), "ahead": codec.dump(to.redo)}


def key_or_none(text: str | None) -> str | None:
    """Return the `key` of a text, or None for None."""
    return None if text is None else key(text)


def event_id(stored: str, body: str | None) -> str:
    """Return the id of an event from its key; if the key is shortened, `body` is the event, which contains it."""
    return from_sql(stored) if body is None else codec.decode(body).id


def scalar(connection: Connection, name: str, row: dict[str, Any]) -> str:
    """Return the single value that a query returns; empty if it returns no row."""
    result = connection.execute(query(name), row).fetchone()
    return str(result[0]) if result else ""


def raise_verdict(verdict: str, session: str, to: SessionHead) -> None:
    """Raise the error for a verdict of the server, unless it is `done`."""
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
