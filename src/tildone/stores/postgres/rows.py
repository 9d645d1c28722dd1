"""Events and heads as the parameters and rows of queries."""

from __future__ import annotations

from tildone.log import codec
from tildone.log.events import PlanChanged
from tildone.stores.postgres.names import SHORTENED, from_sql, key, to_sql
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from tildone.log.events import Event
    from tildone.log.tree import SessionHead

    Row = dict[str, Any]

MOST_EVENTS = 1000

_COLUMNS = {"id": "ids", "parent": "parents", "at": "ats", "snapshot": "snapshots", "body": "bodies"}


def named(session: str) -> Row:
    """The parameters that name a session which may have to be created."""
    name = key(session)
    return {"session": name, "long_name": to_sql(session) if name.startswith(SHORTENED) else None}


def row_of(event: Event) -> Row:
    """The parameters of an event."""
    return {
        "id": key(event.id),
        "parent": key_or_none(event.parent),
        "at": event.at,
        "snapshot": isinstance(event.fact, PlanChanged),
        "body": codec.encode(event),
    }


def batches(events: Iterable[Event], about_bytes: int) -> Iterator[tuple[list[Event], Row]]:
    """Split events into batches of about so many bytes: the events, and their rows as one array per column."""
    some: list[Event] = []
    rows: list[Row] = []
    size = 0
    for event in events:
        some.append(event)
        rows.append(row_of(event))
        size += len(rows[-1]["body"])
        if size >= about_bytes or len(some) >= MOST_EVENTS:
            yield some, _columns(rows)
            some, rows, size = [], [], 0
    if some:
        yield some, _columns(rows)


def head_row(to: SessionHead) -> Row:
    """The parameters of a head to set."""
    return {"head": key_or_none(to.head), "ahead": codec.dump(to.redo)}


def key_or_none(text: str | None) -> str | None:
    """The `key` of a text, or None."""
    return None if text is None else key(text)


def event_id(written: str, body: str | None) -> str:
    """An id as it was written; that of a shortened one is taken from the event's text."""
    return from_sql(written) if body is None else codec.decode(body).id


def _columns(rows: list[Row]) -> Row:
    return {many: [row[one] for row in rows] for one, many in _COLUMNS.items()}
