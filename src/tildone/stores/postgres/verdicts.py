"""What the functions of the schema return: a verdict, which becomes an error unless it is `done`."""

from __future__ import annotations

from tildone.errors import HeadMoved, StoreError, UnknownEvent
from tildone.stores.postgres.queries import query
from tildone.stores.postgres.rows import session_row
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from psycopg import Connection

    from tildone.log.events import Event
    from tildone.log.tree import SessionHead


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
