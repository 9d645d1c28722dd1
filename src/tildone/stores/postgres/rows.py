"""Events and places as the rows that queries take and give."""

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
    """A session that may have to be begun."""
    name = key(session)
    return {"session": name, "long_name": to_sql(session) if name.startswith(SHORTENED) else None}


def row_of(event: Event) -> Row:
    """An event."""
    return {
        "id": key(event.id),
        "parent": key_or_none(event.parent),
        "at": event.at,
        "snapshot": isinstance(event.fact, PlanChanged),
        "body": codec.encode(event),
    }


def batches(events: Iterable[Event], about_bytes: int) -> Iterator[tuple[list[Event], Row]]:
    """Many events, as many at a time as are well sent at once: themselves, and each column of their rows."""
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


def standing(to: SessionHead) -> Row:
    """A place to stand at."""
    return {"head": key_or_none(to.head), "ahead": codec.dump(to.redo)}


def key_or_none(text: str | None) -> str | None:
    """A text that may be missing, as it is looked up."""
    return None if text is None else key(text)


def event_id(written: str, body: str | None) -> str:
    """An id as it was before it was kept; one that had to be shortened stands in the event."""
    return from_sql(written) if body is None else codec.decode(body).id


def _columns(rows: list[Row]) -> Row:
    return {many: [row[one] for row in rows] for one, many in _COLUMNS.items()}
