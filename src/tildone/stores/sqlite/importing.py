"""Events of another store, inserted into a SQLite store."""

from __future__ import annotations

from binascii import crc32

from tildone.errors import StoreError, UnknownEvent
from tildone.log import codec
from tildone.stores.sqlite import queries
from tildone.stores.sqlite.schema import to_sql
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw

    from tildone.log.events import Event


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
