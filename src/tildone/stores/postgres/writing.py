"""Writing to the log of a PostgreSQL store."""

from __future__ import annotations

from contextlib import contextmanager

from psycopg import errors

from tildone.errors import HeadMoved, RunFenced, StoreError
from tildone.log.tree import SessionHead
from tildone.stores.postgres.names import key
from tildone.stores.postgres.queries import fleet_query, query
from tildone.stores.postgres.rows import batches, head_row, key_or_none, row_of, seen_row, session_row
from tildone.stores.postgres.verdicts import insert_unknown, raise_verdict, scalar
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TypeVar

    from psycopg import Connection

    from tildone.log.events import Event
    from tildone.log.fleet.lease import RunFence
    from tildone.stores.postgres.connections import ConnectionPool

    Row = dict[str, Any]
    T = TypeVar("T")

BATCH_BYTES = 1_000_000
"""How many bytes of events are imported by one statement."""


class PostgresWriting:
    """The part of a PostgreSQL store that writes to the log."""

    _connections: ConnectionPool
    _fence: RunFence | None

    def append(self, session: str, event: Event, seen_by: str = "") -> None:
        """Append `event` after the head and make it the head; on disk when this returns.

        Raises:
            HeadMoved: `event.parent` is no longer the head.
        """
        row = session_row(session) | row_of(event) | seen_row(seen_by, event.id)

        def write(connection: Connection, attempts: int) -> str:
            """Append; after an unacknowledged attempt, the event may already be in the database."""
            try:
                verdict = self._appended(connection, row)
            except errors.UniqueViolation as error:
                if attempts and scalar(connection, "body", row) == row["body"]:
                    return "done"
                raise StoreError(f"{session!r} has an event {event.id!r} already") from error
            except RunFenced:
                if attempts and scalar(connection, "body", row) == row["body"]:
                    return "done"
                raise
            return "done" if attempts and verdict == "there" else verdict

        if self._connections.run(write) != "done":
            raise HeadMoved(session)

    def move_head(self, session: str, to: SessionHead, *, expected: str | None) -> None:
        """Make another event the head.

        Raises:
            HeadMoved: the head is no longer `expected`.
            UnknownEvent: `to` names an event that is not in this session.
        """
        row = {"session": key(session), "expected": key_or_none(expected)} | head_row(to)

        def move(connection: Connection, attempts: int) -> str:
            """Move the head; after an unacknowledged attempt, it may already be the new one."""
            verdict = self._in_run(connection, lambda: scalar(connection, "move_head", row))
            if attempts and verdict == "overtaken":
                current = connection.execute(query("session_head"), row).fetchone()
                return "done" if current and current[:2] == (row["head"], row["ahead"]) else verdict
            return verdict

        raise_verdict(self._connections.run(move), session, to)

    def import_events(self, session: str, events: Iterable[Event], to: SessionHead) -> int:
        """Insert events of another store, whatever the current head, then set the head: all of it or nothing.

        Raises:
            UnknownEvent: the parent of an event, or the new head, is neither in this session nor among `events`.
            StoreError: this session has a different event with the same id.
        """
        imported = list(events)
        counts = []

        def insert(connection: Connection, _attempts: int) -> None:
            with self._transaction(connection):
                counts.append(
                    sum(insert_unknown(connection, session, *batch) for batch in batches(imported, BATCH_BYTES))
                )
                raise_verdict(scalar(connection, "set_head", {"session": key(session)} | head_row(to)), session, to)

        self._connections.run(insert, is_slow=True)
        # After an attempt that committed without an acknowledgement, the next one inserts nothing.
        return max(counts)

    def delete(self, session: str, *, expected: str | None) -> None:
        """Delete the session, all its events, and what is kept beside them.

        Raises:
            HeadMoved: the head is not `expected`: another writer is using the session.
        """
        row = {"session": key(session), "expected": key_or_none(expected)}

        def remove(connection: Connection, attempts: int) -> str:
            """Delete; after an unacknowledged attempt, the session may already be deleted."""
            verdict = self._in_run(connection, lambda: scalar(connection, "delete_session", row))
            return "done" if attempts and connection.execute(query("session"), row).fetchone() is None else verdict

        raise_verdict(self._connections.run(remove), session, SessionHead())

    def _appended(self, connection: Connection, row: Row) -> str:
        """Append an event in one statement, which checks the lease first if this process works for a run.

        Raises:
            RunFenced: the run has passed to another worker, or has ended.
        """
        fence = self._fence
        if fence is None:
            return scalar(connection, "append_seen" if row["reader"] else "append", row)
        lease = {"run": fence.run, "hand": fence.hand, "epoch": fence.epoch, "keeps_redo": False}
        [(verdict,)] = connection.execute(fleet_query("append_held"), row | lease).fetchall()
        if verdict == "fenced":
            raise RunFenced(fence.run)
        return str(verdict)

    def _in_run(self, connection: Connection, statement: Callable[[], T]) -> T:
        """Execute a statement, which is a transaction of its own unless this process works for a run.

        Raises:
            RunFenced: the run has passed to another worker, or has ended.
        """
        if self._fence is None:
            return statement()
        with self._transaction(connection):
            return statement()

    @contextmanager
    def _transaction(self, connection: Connection) -> Iterator[None]:
        """Begin a transaction. If this process works for a run, its lease cannot pass to another until it ends.

        Raises:
            RunFenced: the run has passed to another worker, or has ended.
        """
        with connection.transaction():
            fence = self._fence
            if fence is not None:
                row = {"run": fence.run, "hand": fence.hand, "epoch": fence.epoch}
                [(is_held,)] = connection.execute(fleet_query("holds"), row).fetchall()
                if not is_held:
                    raise RunFenced(fence.run)
            yield
