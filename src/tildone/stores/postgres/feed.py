"""Reading the change feed of a PostgreSQL store."""

from __future__ import annotations

from psycopg import errors

from tildone.log.tree import SessionChange
from tildone.stores.postgres.names import from_sql
from tildone.stores.postgres.queries import query
from tildone.stores.postgres.rows import event_id
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from psycopg import Connection

    from tildone.stores.postgres.connections import ConnectionPool


def newest_revision(connections: ConnectionPool) -> int:
    """Return the newest revision; 0 if there is none."""
    [(revision,)] = _rows(connections, "revision")
    return int(revision)


def changed_sessions(connections: ConnectionPool, since: int) -> list[SessionChange]:
    """Return the sessions that changed after a revision, the oldest change first."""
    return [
        SessionChange(from_sql(name), None if head is None else event_id(head, body), revision, exists=exists)
        for name, head, body, revision, exists in _rows(connections, "changed", since=since)
    ]


def _rows(connections: ConnectionPool, name: str, **parameters: Any) -> list[tuple[Any, ...]]:
    """Run a query; in a database of an older schema that may only be read, the one for that schema."""

    def read(connection: Connection, _attempts: int) -> list[tuple[Any, ...]]:
        try:
            return connection.execute(query(name), parameters).fetchall()
        except errors.UndefinedTable:
            return connection.execute(query(f"{name}_before_schema_3"), parameters).fetchall()

    return connections.run(read)
