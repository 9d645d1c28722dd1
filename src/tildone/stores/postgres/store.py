"""The PostgreSQL store.

Theory of operation. Every change is one call of a PL/pgSQL function of the schema, which locks the session's row first:
check and change of the head cannot be separated, and the lock orders writers of one session only. The function returns
a verdict (`done`, `overtaken`, `unknown`, `there`) instead of raising, and sends NOTIFY, which is delivered on commit.

A connection may be lost after a commit and before its acknowledgement. So every operation is repeated on a new
connection until the timeout, and a repeated one first finds out whether the earlier try took effect: an appended event
is already there with the same text, a moved head already stands where it should, a deleted session is gone. Nothing is
lost and nothing is written twice.

A history is read with recursive queries of bounded size: to the newest plan first, which most callers need, then in
steps that grow.
"""

from __future__ import annotations

import os
import weakref
from time import monotonic

from psycopg import errors

from tildone.errors import HeadMoved, StoreDamaged, StoreError, UnknownEvent
from tildone.log import codec
from tildone.log.tree import SessionHead, SessionInfo
from tildone.stores.base import TIMEOUT_SECONDS
from tildone.stores.postgres.address import address_of
from tildone.stores.postgres.connections import Connections
from tildone.stores.postgres.health import findings
from tildone.stores.postgres.listener import Listener
from tildone.stores.postgres.names import from_sql, key
from tildone.stores.postgres.queries import query
from tildone.stores.postgres.rows import batches, event_id, head_row, key_or_none, named, row_of
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from psycopg import Connection

    from tildone.log.events import Event
    from tildone.log.findings import Finding
    from tildone.log.store import ProgressCallback

RECHECK_SECONDS = 10.0
"""A waiter reads the head itself this often, in case a notification was lost with its connection."""

# How many events one query of a history returns at most: to the newest plan at first, then more each time.
TO_THE_PLAN = 64
FIRST_STEPS = 16
GROWTH = 4
MOST_STEPS = 1024

ABOUT_BYTES = 1_000_000
"""About how many bytes of events one query returns; one event more is possible."""


class PostgresStore:
    """A store in a database, named by a URL. What it has acknowledged is on the server's disk.

    Safe for many threads; a process that forks must open its own. Operations wait up to `timeout` seconds for a server
    that restarts.

    Raises:
        UsageError: the URL cannot be parsed.
        StoreError: the database cannot be used; the subclass says why. Any method may raise it.
    """

    durable = True

    def __init__(self, url: str, *, timeout: float = TIMEOUT_SECONDS) -> None:
        self._connections = Connections(address_of(url, timeout), timeout)
        self._listener = Listener(self._connections)
        # Also closes the connections of a store that is garbage collected or alive when the process ends.
        self._finalizer = weakref.finalize(self, _close, self._connections, self._listener, os.getpid())
        # Connect at once, so that whoever opens the store learns what is wrong.
        self._connections.ask(lambda _connection, _tries: None)

    def session_head(self, session: str) -> SessionHead:
        """The head of the session and its redo list."""
        for head, ahead, body in self._rows("place", session=key(session)):
            way = () if ahead == "[]" else tuple(codec.parse(ahead))
            return SessionHead(None if head is None else event_id(head, body), way)
        return SessionHead()

    def history(self, session: str, head: str | None = None) -> Iterator[Event]:
        """The events from `head`, by default the session's own, to the root, newest first.

        Raises:
            UnknownEvent: `head` is not in this session.
        """
        newest = self._path(session, key_or_none(head), TO_THE_PLAN, to_snapshot=True)
        if not newest and head is not None:
            raise UnknownEvent(head)
        return self._ancestors(session, newest)

    def events(self, session: str) -> Iterator[Event]:
        """Every event of every branch, in the order they were written."""
        for number, many in self._rows("session", session=key(session)):
            return self._in_order(session, number, many)
        return iter(())

    def append(self, session: str, event: Event) -> None:
        """Append `event` after the head and make it the head; on disk when this returns.

        Raises:
            HeadMoved: `event.parent` is no longer the head.
        """
        row = named(session) | row_of(event)

        def write(connection: Connection, tries: int) -> str:
            """Append; after a try without an answer, the event may be there already."""
            try:
                verdict = _answer(connection, "append", row)
            except errors.UniqueViolation as error:
                if tries and _answer(connection, "body", row) == row["body"]:
                    return "done"
                raise StoreError(f"{session!r} has an event {event.id!r} already") from error
            return "done" if tries and verdict == "there" else verdict

        if self._connections.ask(write) != "done":
            raise HeadMoved(session)

    def move_head(self, session: str, to: SessionHead, *, expected: str | None) -> None:
        """Make another event the head.

        Raises:
            HeadMoved: the head is no longer `expected`.
            UnknownEvent: `to` names an event that is not in this session.
        """
        row = {"session": key(session), "expected": key_or_none(expected)} | head_row(to)

        def go(connection: Connection, tries: int) -> str:
            """Move; after a try without an answer, the head may be there already."""
            verdict = _answer(connection, "move", row)
            if tries and verdict == "overtaken":
                here = connection.execute(query("place"), row).fetchone()
                return "done" if here and here[:2] == (row["head"], row["ahead"]) else verdict
            return verdict

        _raise_verdict(self._connections.ask(go), session, to)

    def import_events(self, session: str, events: Iterable[Event], to: SessionHead) -> int:
        """Insert events of another store wherever the head is, then set the head: all of it or nothing.

        Raises:
            UnknownEvent: the parent of an event, or the new head, is neither here nor among them.
            StoreError: a different event with the same id is here.
        """
        theirs = list(events)
        new = []

        def take(connection: Connection, _tries: int) -> None:
            with connection.transaction():
                new.append(sum(_insert_unknown(connection, session, *some) for some in batches(theirs, ABOUT_BYTES)))
                _raise_verdict(_answer(connection, "stand", {"session": key(session)} | head_row(to)), session, to)

        self._connections.ask(take)
        # A try that committed without an answer leaves nothing new for the next one: the largest count is right.
        return max(new)

    def delete(self, session: str, *, expected: str | None) -> None:
        """Delete the session and all its events.

        Raises:
            HeadMoved: the head is not `expected`: somebody is at work on it.
        """
        row = {"session": key(session), "expected": key_or_none(expected)}

        def remove(connection: Connection, tries: int) -> str:
            """Delete; after a try without an answer, the session may be gone already."""
            verdict = _answer(connection, "forget", row)
            return "done" if tries and connection.execute(query("session"), row).fetchone() is None else verdict

        _raise_verdict(self._connections.ask(remove), session, SessionHead())

    def leaves(self, session: str) -> list[str]:
        """The newest event of each branch, in the order they were written."""
        return [event_id(leaf, body) for leaf, body in self._rows("leaves", session=key(session))]

    def sessions(self) -> list[SessionInfo]:
        """Every session, the one written to last first."""
        return [SessionInfo(from_sql(name), *rest) for name, *rest in self._rows("sessions")]

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        """Wait until the head is not `head`; False when `timeout` seconds passed first.

        All waiters of this object share one LISTEN connection.
        """
        if timeout <= 0:
            return self.session_head(session).head != head
        self._connections.check_usable()
        until = monotonic() + timeout
        with self._listener.subscribe(key(session)) as notified:
            while self.session_head(session).head == head:
                left = until - monotonic()
                if left <= 0:
                    return False
                notified.wait(min(left, RECHECK_SECONDS))
                notified.clear()
        return True

    def check(self, _progress: ProgressCallback | None = None) -> Iterator[Finding]:
        """Check the integrity of the database, piece by piece."""
        return findings(self._rows)

    def compact(self) -> None:
        """Nothing: the server's autovacuum reuses space."""

    def close(self) -> None:
        """Close all connections and wake waiters. A closed store is not used again."""
        self._finalizer()
        self._listener.wake()

    def _rows(self, name: str, **parameters: Any) -> list[tuple[Any, ...]]:
        return self._connections.ask(lambda connection, _tries: connection.execute(query(name), parameters).fetchall())

    def _path(
        self, session: str, head: str | None, steps: int, *, to_snapshot: bool = False
    ) -> list[tuple[str, str | None]]:
        """Some events and the ids of their parents, from `head` towards the root."""
        row = {"head": head, "steps": steps, "bytes": ABOUT_BYTES, "to_snapshot": to_snapshot}
        return self._rows("history", session=key(session), **row)

    def _ancestors(self, session: str, way: list[tuple[str, str | None]]) -> Iterator[Event]:
        steps = FIRST_STEPS
        while way:
            for body, _ in way:
                yield self._decoded(body)
            _, parent = way[-1]
            if parent is None:
                return
            way = self._path(session, parent, steps)
            if not way:
                raise UnknownEvent(from_sql(parent))
            steps = min(steps * GROWTH, MOST_STEPS)

    def _in_order(self, session: str, number: int, many: int) -> Iterator[Event]:
        """The first `many` events of the session with that number in the database."""
        last = 0
        while last < many:
            row = {"after": last, "last": many, "most": MOST_STEPS, "bytes": ABOUT_BYTES}
            found = self._rows("events", session=number, **row)
            if not found:
                raise StoreError(f"{session!r} was removed while it was read")
            for _, body in found:
                yield self._decoded(body)
            last = found[-1][0]

    def _decoded(self, body: str) -> Event:
        try:
            return codec.decode(body)
        except codec.UndecodableEvent as error:
            raise StoreDamaged(f"{self._connections.where} is damaged: {error}") from error


def _answer(connection: Connection, name: str, row: dict[str, Any]) -> str:
    """The single value that a query returns; empty if it returns no row."""
    found = connection.execute(query(name), row).fetchone()
    return str(found[0]) if found else ""


def _raise_verdict(verdict: str, session: str, to: SessionHead) -> None:
    """Raise the error that a verdict of the server stands for, if it is one."""
    if verdict == "overtaken":
        raise HeadMoved(session)
    if verdict == "unknown":
        raise UnknownEvent(to.head)


def _insert_unknown(connection: Connection, session: str, events: list[Event], columns: dict[str, Any]) -> int:
    """Insert the events that are not in the database yet; how many."""
    found = connection.execute(query("adopt"), named(session) | columns).fetchone()
    new, orphan, other = found or (0, None, None)
    if orphan:
        raise UnknownEvent(events[orphan - 1].parent)
    if other:
        raise StoreError(f"{session!r} has another event {events[other - 1].id!r}")
    return int(new)


def _close(connections: Connections, listener: Listener, process: int) -> None:
    # Connections inherited through fork belong to the parent.
    if process == os.getpid():
        connections.close()
        listener.close()
