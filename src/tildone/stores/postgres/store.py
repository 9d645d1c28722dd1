"""The PostgreSQL store.

Theory of operation. Every change is one call of a PL/pgSQL function of the schema, which locks the session's row first:
check and change of the head cannot be separated, and the lock orders writers of one session only. The function returns
a verdict (`done`, `overtaken`, `unknown`, `there`) instead of raising, and sends NOTIFY, which is delivered on commit.

A connection may be lost after a commit and before its acknowledgement. So every operation is repeated on a new
connection until the timeout, and a repeated one first checks whether the earlier attempt took effect: an appended event
is in the database with the same text, the head is already the new one, a deleted session does not exist. Nothing is
lost and nothing is written twice.

A history is read with recursive queries of bounded size: the first one stops at the newest plan, which is all that most
callers need; the following ones return more and more events.
"""

from __future__ import annotations

import os
import weakref

from psycopg import errors

from tildone.errors import StoreDamaged, StoreError, UnknownEvent
from tildone.log import codec
from tildone.log.tree import SessionHead, SessionInfo
from tildone.stores.base import TIMEOUT_SECONDS
from tildone.stores.postgres.address import address_of
from tildone.stores.postgres.claims import PostgresClaims
from tildone.stores.postgres.connections import ConnectionPool
from tildone.stores.postgres.feed import changed_sessions, newest_revision
from tildone.stores.postgres.health import findings
from tildone.stores.postgres.listener import ANY_SESSION, Listener
from tildone.stores.postgres.names import from_sql, key
from tildone.stores.postgres.queries import query
from tildone.stores.postgres.records import PostgresRecords
from tildone.stores.postgres.rows import event_id, key_or_none, seen_row
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from psycopg import Connection

    from tildone.log.events import Event
    from tildone.log.findings import Finding
    from tildone.log.fleet.lease import RunFence
    from tildone.log.store import ProgressCallback
    from tildone.log.tree import SessionChange
    from tildone.stores.postgres.leases import PostgresLeases
    from tildone.stores.postgres.run_lists import PostgresRunLists
    from tildone.stores.scribe import Scribe

# Limits on the number of events that one query of a history returns: the first stops at the newest plan, the limit of
# the following ones grows.
MAX_EVENTS_TO_PLAN = 64
FIRST_BATCH_EVENTS = 16
BATCH_GROWTH_FACTOR = 4
MAX_BATCH_EVENTS = 1024

BATCH_BYTES = 1_000_000
"""A query returns no more events once it has this many bytes."""


class PostgresStore(PostgresClaims, PostgresRecords):
    """A store in a database, named by a URL. Acknowledged changes are on the server's disk.

    It is thread-safe; after a fork, a process must open its own. Operations wait up to `timeout` seconds for a server
    that restarts.

    Raises:
        UsageError: the URL cannot be parsed.
        NotFound: `read_only`, and the database has no store.
        StoreError: the database cannot be used; the subclass says why. Any method may raise it.
    """

    durable = True

    def __init__(
        self,
        url: str,
        *,
        timeout: float = TIMEOUT_SECONDS,
        read_only: bool = False,
        fence: RunFence | None = None,
    ) -> None:
        self._fence = fence
        self._connections = ConnectionPool(address_of(url, timeout), timeout, read_only=read_only)
        self._listener = Listener(self._connections, query("listen"))
        # Of its own: a worker that waits for leases is not woken by every change of a plan.
        self._lease_listener = Listener(self._connections, query("listen_to_leases"))
        # Also closes the connections of a store that is garbage collected or alive when the process ends.
        listeners = self._listener, self._lease_listener
        self._finalizer = weakref.finalize(self, _close, self._connections, listeners, os.getpid())
        # Connect at once, so that errors are raised on opening.
        self.user = self._connections.run(lambda connection, _attempts: connection.info.user)

    def session_head(self, session: str) -> SessionHead:
        """Return the head of the session and its redo list."""
        for head, redo, body in self._rows("session_head", session=key(session)):
            events = () if redo == "[]" else tuple(codec.parse_strictly(redo))
            return SessionHead(None if head is None else event_id(head, body), events)
        return SessionHead()

    def history(self, session: str, head: str | None = None) -> Iterator[Event]:
        """Return the events from `head`, by default the session's own, to the root, newest first.

        Raises:
            UnknownEvent: `head` is not in this session.
        """
        newest = self._path(session, key_or_none(head), MAX_EVENTS_TO_PLAN, to_snapshot=True)
        if not newest and head is not None:
            raise UnknownEvent(head)
        return self._ancestors(session, newest)

    def events(self, session: str) -> Iterator[Event]:
        """Return every event of every branch, in the order they were written."""
        for number, count in self._rows("session", session=key(session)):
            return self._in_order(session, number, count)
        return iter(())

    def seen(self, session: str, reader: str) -> str | None:
        """Return the head that a reader has seen."""
        row = {"session": key(session)} | seen_row(reader, None)

        def read(connection: Connection, _attempts: int) -> str | None:
            try:
                found = connection.execute(query("seen"), row).fetchone()
            except errors.UndefinedTable:
                # A database of an older schema that may only be read.
                return None
            return from_sql(found[0]) if found else None

        return self._connections.run(read)

    def set_seen(self, session: str, reader: str, head: str | None) -> None:
        """Record the head that a reader has seen; None removes the record."""
        self._rows("set_seen", session=key(session), **seen_row(reader, head))

    def leaves(self, session: str) -> list[str]:
        """Return the newest event of each branch, in the order they were written."""
        return [event_id(leaf, body) for leaf, body in self._rows("leaves", session=key(session))]

    def sessions(self) -> list[SessionInfo]:
        """Return every session, the most recently written first."""
        return [SessionInfo(from_sql(name), *rest) for name, *rest in self._rows("sessions")]

    def session_info(self, session: str) -> SessionInfo | None:
        """Return the entry of one session; None if it does not exist."""
        rows = self._rows("session_info", session=key(session))
        return next((SessionInfo(from_sql(name), *rest) for name, *rest in rows), None)

    def unreadable(self) -> list[str]:
        """Return nothing: `sessions` leaves nothing out."""
        return []

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        """Wait until the head is not `head`; return False if `timeout` seconds pass first."""
        return self._listener.wait(key(session), lambda: self.session_head(session).head != head, timeout)

    def revision(self) -> int:
        """Return the newest revision; triggers of the schema make one for every change."""
        return newest_revision(self._connections)

    def changed(self, since: int) -> list[SessionChange]:
        """Return the sessions that changed after a revision, the oldest change first."""
        return changed_sessions(self._connections, since)

    def wait_any(self, revision: int, timeout: float) -> bool:
        """Wait until the revision is not `revision`; return False if `timeout` seconds pass first."""
        return self._listener.wait(ANY_SESSION, lambda: self.revision() != revision, timeout)

    def check(self, _progress: ProgressCallback | None = None) -> Iterator[Finding]:
        """Check the integrity of the database, piece by piece."""
        return findings(self._slow_rows)

    def compact(self) -> None:
        """Do nothing: the server's autovacuum reuses space."""

    def leases(self, scribe: Scribe) -> PostgresLeases:
        """Return the leases of runs."""
        # Late, because only workers and their commands need them.
        from tildone.stores.postgres.leases import PostgresLeases  # noqa: PLC0415  see above

        return PostgresLeases(self, self._connections, self._lease_listener, scribe)

    def run_lists(self) -> PostgresRunLists:
        """Return the leases of runs, to be read in parts."""
        # Late, because only screens need them.
        from tildone.stores.postgres.run_lists import PostgresRunLists  # noqa: PLC0415  see above

        return PostgresRunLists(self._connections)

    def close(self) -> None:
        """Close all connections and wake waiters. A closed store must not be used again."""
        self._finalizer()
        self._listener.wake()
        self._lease_listener.wake()

    def _rows(self, name: str, **parameters: Any) -> list[tuple[Any, ...]]:
        return self._connections.run(
            lambda connection, _attempts: connection.execute(query(name), parameters).fetchall()
        )

    def _slow_rows(self, name: str, **parameters: Any) -> list[tuple[Any, ...]]:
        return self._connections.run(
            lambda connection, _attempts: connection.execute(query(name), parameters).fetchall(), is_slow=True
        )

    def _path(
        self, session: str, head: str | None, steps: int, *, to_snapshot: bool = False
    ) -> list[tuple[str, str | None]]:
        """Return some events and the keys of their parents, from `head` towards the root."""
        row = {"head": head, "steps": steps, "bytes": BATCH_BYTES, "to_snapshot": to_snapshot}
        return self._rows("history", session=key(session), **row)

    def _ancestors(self, session: str, rows: list[tuple[str, str | None]]) -> Iterator[Event]:
        steps = FIRST_BATCH_EVENTS
        while rows:
            for body, _ in rows:
                yield self._decoded(body)
            _, parent = rows[-1]
            if parent is None:
                return
            rows = self._path(session, parent, steps)
            if not rows:
                raise UnknownEvent(from_sql(parent))
            steps = min(steps * BATCH_GROWTH_FACTOR, MAX_BATCH_EVENTS)

    def _in_order(self, session: str, number: int, count: int) -> Iterator[Event]:
        """Return the first `count` events of the session with that number in the database."""
        last = 0
        while last < count:
            row = {"after": last, "last": count, "limit": MAX_BATCH_EVENTS, "bytes": BATCH_BYTES}
            rows = self._rows("events", session=number, **row)
            if not rows:
                raise StoreError(f"{session!r} was deleted while it was read")
            for _, body in rows:
                yield self._decoded(body)
            last = rows[-1][0]

    def _decoded(self, body: str) -> Event:
        try:
            return codec.decode(body)
        except codec.UndecodableEvent as error:
            raise StoreDamaged(f"{self._connections.where} is damaged: {error}") from error


def _close(connections: ConnectionPool, listeners: Iterable[Listener], process: int) -> None:
    # Connections inherited through fork belong to the parent.
    if process == os.getpid():
        connections.close()
        for listener in listeners:
            listener.close()
