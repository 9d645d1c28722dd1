"""The PostgreSQL store. Its methods are documented by `Store` in `tildone.log.store`.

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
from collections.abc import Iterable, Iterator
from typing import Any

from tildone.base import TYPE_CHECKING, HeadMoved, RunFenced, StoreDamaged, StoreError, UnknownEvent
from tildone.log.kept import Finding
from tildone.log.store import ProgressCallback
from tildone.plan import codec
from tildone.plan.events import Event, SessionHead, SessionInfo
from tildone.plan.runs import RunFence
from tildone.stores import TIMEOUT_SECONDS
from tildone.stores.leasing import READER, Recorder, RunLeases, RunLists
from tildone.stores.postgres.address import address_of
from tildone.stores.postgres.connections import ConnectionPool, Database, Listener
from tildone.stores.postgres.health import findings
from tildone.stores.postgres.leases import PostgresLeaseTables
from tildone.stores.postgres.records import PostgresRecords
from tildone.stores.postgres.rows import (
    batches,
    event_id,
    from_sql,
    head_row,
    insert_unknown,
    key,
    key_or_none,
    query,
    raise_verdict,
    row_of,
    scalar,
    seen_row,
    session_row,
)

if TYPE_CHECKING:
    from psycopg import Connection


# Limits on the number of events that one query of a history returns: the first stops at the newest plan, the limit of
# the following ones grows.
MAX_EVENTS_TO_PLAN = 64
FIRST_BATCH_EVENTS = 16
BATCH_GROWTH_FACTOR = 4
MAX_BATCH_EVENTS = 1024

BATCH_BYTES = 1_000_000
"""A query returns no more events once it has this many bytes."""

IMPORT_BYTES = 1_000_000
"""How many bytes of events are imported by one statement."""


class PostgresStore:
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
        connections = ConnectionPool(address_of(url, timeout), timeout, read_only=read_only)
        self._database = Database(connections, fence)
        self._listener = Listener(connections, query("listen"))
        # Of its own: a worker that waits for leases is not woken by every change of a plan.
        self._lease_listener = Listener(connections, query("listen_to_leases"))
        self.records = PostgresRecords(self._database, self._listener)
        # Also closes the connections of a store that is garbage collected or alive when the process ends.
        listeners = self._listener, self._lease_listener
        self._finalizer = weakref.finalize(self, _close, connections, listeners, os.getpid())
        # Connect at once, so that errors are raised on opening.
        self.user = self._database.run(lambda connection, _attempts: connection.info.user)

    def session_head(self, session: str) -> SessionHead:
        for head, redo, body in self._database.rows("session_head", session=key(session)):
            events = () if redo == "[]" else tuple(codec.parse_strictly(redo))
            return SessionHead(None if head is None else event_id(head, body), events)
        return SessionHead()

    def history(self, session: str, head: str | None = None) -> Iterator[Event]:
        newest = self._path(session, key_or_none(head), MAX_EVENTS_TO_PLAN, to_snapshot=True)
        if not newest and head is not None:
            raise UnknownEvent(head)
        return self._ancestors(session, newest)

    def events(self, session: str) -> Iterator[Event]:
        for number, count in self._database.rows("session", session=key(session)):
            return self._in_order(session, number, count)
        return iter(())

    def append(self, session: str, event: Event, seen_by: str = "") -> None:
        row = session_row(session) | row_of(event) | seen_row(seen_by, event.id)
        verdict, *_ = self._database.append(session, row, lambda connection: (self._appended(connection, row), 0, None))
        if verdict != "done":
            raise HeadMoved(session)

    def move_head(self, session: str, to: SessionHead, *, expected: str | None) -> None:
        row = {"session": key(session), "expected": key_or_none(expected)} | head_row(to)

        def move(connection: Connection, attempts: int) -> str:
            """Move the head; after an unacknowledged attempt, it may already be the new one."""
            verdict = self._database.in_run(connection, lambda: scalar(connection, "move_head", row))
            if attempts and verdict == "overtaken":
                current = connection.execute(query("session_head"), row).fetchone()
                return "done" if current and current[:2] == (row["head"], row["ahead"]) else verdict
            return verdict

        raise_verdict(self._database.run(move), session, to)

    def import_events(self, session: str, events: Iterable[Event], to: SessionHead) -> int:
        imported = list(events)
        counts = []

        def insert(connection: Connection, _attempts: int) -> None:
            with self._database.transaction(connection):
                counts.append(
                    sum(insert_unknown(connection, session, *batch) for batch in batches(imported, IMPORT_BYTES))
                )
                raise_verdict(scalar(connection, "set_head", {"session": key(session)} | head_row(to)), session, to)

        self._database.run(insert, is_slow=True)
        # After an attempt that committed without an acknowledgement, the next one inserts nothing.
        return max(counts)

    def delete(self, session: str, *, expected: str | None) -> None:
        row = {"session": key(session), "expected": key_or_none(expected)}

        def remove(connection: Connection, attempts: int) -> str:
            """Delete; after an unacknowledged attempt, the session may already be deleted."""
            verdict = self._database.in_run(connection, lambda: scalar(connection, "delete_session", row))
            return "done" if attempts and connection.execute(query("session"), row).fetchone() is None else verdict

        raise_verdict(self._database.run(remove), session, SessionHead())

    def leaves(self, session: str) -> list[str]:
        return [event_id(leaf, body) for leaf, body in self._database.rows("leaves", session=key(session))]

    def sessions(self) -> list[SessionInfo]:
        return [SessionInfo(from_sql(name), *rest) for name, *rest in self._database.rows("sessions")]

    def session_info(self, session: str) -> SessionInfo | None:
        rows = self._database.rows("session_info", session=key(session))
        return next((SessionInfo(from_sql(name), *rest) for name, *rest in rows), None)

    def unreadable(self) -> list[str]:
        return []

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        return self._listener.wait(key(session), lambda: self.session_head(session).head != head, timeout)

    def check(self, _progress: ProgressCallback | None = None) -> Iterator[Finding]:
        def rows(name: str, **row: Any) -> list[tuple[Any, ...]]:
            return self._database.run(lambda each, _: each.execute(query(name), row).fetchall(), is_slow=True)

        return findings(rows)

    def compact(self) -> None:
        """Do nothing: the server's autovacuum reuses space."""

    def leases(self, recorder: Recorder) -> RunLeases:
        return RunLeases(self, PostgresLeaseTables(self._database, self._lease_listener, recorder), recorder)

    def run_lists(self) -> RunLists:
        return RunLists(PostgresLeaseTables(self._database, self._lease_listener, READER))

    def close(self) -> None:
        """Close all connections and wake waiters. A closed store must not be used again."""
        self._finalizer()
        self._listener.wake()
        self._lease_listener.wake()

    def _appended(self, connection: Connection, row: dict[str, Any]) -> str:
        """Append an event in one statement, which checks the lease first if this process works for a run.

        Raises RunFenced if the run has passed to another worker, or has ended.
        """
        fence = self._database.fence
        if fence is None:
            return scalar(connection, "append_seen" if row["reader"] else "append", row)
        lease = {"run": fence.run, "hand": fence.hand, "epoch": fence.epoch, "keeps_redo": False}
        [(verdict,)] = connection.execute(query("append_held"), row | lease).fetchall()
        if verdict == "fenced":
            raise RunFenced(fence.run)
        return str(verdict)

    def _path(
        self, session: str, head: str | None, steps: int, *, to_snapshot: bool = False
    ) -> list[tuple[str, str | None]]:
        """Return some events and the keys of their parents, from `head` towards the root."""
        row = {"head": head, "steps": steps, "bytes": BATCH_BYTES, "to_snapshot": to_snapshot}
        return self._database.rows("history", session=key(session), **row)

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
            rows = self._database.rows("events", session=number, **row)
            if not rows:
                raise StoreError(f"{session!r} was deleted while it was read")
            for _, body in rows:
                yield self._decoded(body)
            last = rows[-1][0]

    def _decoded(self, body: str) -> Event:
        try:
            return codec.decode(body)
        except codec.UndecodableEvent as error:
            raise StoreDamaged(f"{self._database.connections.where} is damaged: {error}") from error


def _close(connections: ConnectionPool, listeners: Iterable[Listener], process: int) -> None:
    # Connections inherited through fork belong to the parent.
    if process == os.getpid():
        connections.close()
        for listener in listeners:
            listener.close()
