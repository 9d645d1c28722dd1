"""Sessions kept in a PostgreSQL database, shared by everyone who can reach it."""

from __future__ import annotations

import os
import weakref
from time import monotonic

from psycopg import errors

from tildone.errors import HeadMoved, StoreDamaged, StoreError, UnknownEvent
from tildone.log import codec
from tildone.log.tree import SessionHead, SessionInfo
from tildone.stores.postgres.address import address_of
from tildone.stores.postgres.connections import Connections
from tildone.stores.postgres.health import findings
from tildone.stores.postgres.listener import Listener
from tildone.stores.postgres.names import from_sql, key
from tildone.stores.postgres.queries import query
from tildone.stores.postgres.rows import batches, event_id, key_or_none, named, row_of, standing
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from psycopg import Connection

    from tildone.log.events import Event
    from tildone.log.health import Finding
    from tildone.log.store import Progress

TIMEOUT_SECONDS = 30.0

RECHECK_SECONDS = 10.0
"""Seconds after which a waiter looks by itself, in case nobody could tell it of a change."""

# How far back one query of a history goes: to the newest plan at first, then farther each time.
TO_THE_PLAN = 64
FIRST_STEPS = 16
GROWTH = 4
MOST_STEPS = 1024

ABOUT_BYTES = 1_000_000
"""What one query reads at once, give or take an event."""


class PostgresStore:
    """A store in a database, named by a URL. What it has acknowledged is on the server's disk.

    Safe for many threads; a process that forks opens one of its own. A server that goes away is waited for, as many
    seconds as there is `timeout`: what was acknowledged is not lost meanwhile, and nothing is written twice.

    Raises:
        UsageError: the URL makes no sense.
        StoreError: the database cannot be used; which of the family says why. Any method may raise it.
    """

    durable = True

    def __init__(self, url: str, *, timeout: float = TIMEOUT_SECONDS) -> None:
        self._connections = Connections(address_of(url, timeout), timeout)
        self._listener = Listener(self._connections)
        # A process that ends without closing its store ends quietly, too.
        self._let_go = weakref.finalize(self, _let_go, self._connections, self._listener, os.getpid())
        # One connection is needed in any case, and what is wrong is best said now.
        self._connections.ask(lambda _connection, _tries: None)

    def session_head(self, session: str) -> SessionHead:
        """Where the session stands."""
        for head, ahead, body in self._rows("place", session=key(session)):
            way = () if ahead == "[]" else tuple(codec.parse(ahead))
            return SessionHead(None if head is None else event_id(head, body), way)
        return SessionHead()

    def history(self, session: str, head: str | None = None) -> Iterator[Event]:
        """The events from `head` (the session's own, unless another is named) to the root, newest first.

        Raises:
            UnknownEvent: `head` is not in this session.
        """
        newest = self._way(session, key_or_none(head), TO_THE_PLAN, to_snapshot=True)
        if not newest and head is not None:
            raise UnknownEvent(head)
        return self._backwards(session, newest)

    def events(self, session: str) -> Iterator[Event]:
        """Every event of every branch, in the order they were written."""
        for number, many in self._rows("session", session=key(session)):
            return self._in_order(session, number, many)
        return iter(())

    def append(self, session: str, event: Event) -> None:
        """Hang `event` under the head and make it the head; on disk when this returns.

        Raises:
            HeadMoved: `event.parent` is no longer the head.
        """
        row = named(session) | row_of(event)

        def write(connection: Connection, tries: int) -> str:
            """If it was tried before, without an answer, it may be there already."""
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
            UnknownEvent: the place names an event that is not in this session.
        """
        row = {"session": key(session), "expected": key_or_none(expected)} | standing(to)

        def go(connection: Connection, tries: int) -> str:
            """If it was tried before, without an answer, the session may stand there already."""
            verdict = _answer(connection, "move", row)
            if tries and verdict == "overtaken":
                here = connection.execute(query("place"), row).fetchone()
                return "done" if here and here[:2] == (row["head"], row["ahead"]) else verdict
            return verdict

        _heed(self._connections.ask(go), session, to)

    def import_events(self, session: str, events: Iterable[Event], to: SessionHead) -> int:
        """Take over events as another store has them, wherever the head is, and stand at `to`: all of it or nothing.

        Raises:
            UnknownEvent: the parent of an event, or the head to stand at, is neither here nor among them.
            StoreError: another event of the same id is here.
        """
        theirs = list(events)
        new = []

        def take(connection: Connection, _tries: int) -> None:
            with connection.transaction():
                new.append(sum(_taken(connection, session, *some) for some in batches(theirs, ABOUT_BYTES)))
                _heed(_answer(connection, "stand", {"session": key(session)} | standing(to)), session, to)

        self._connections.ask(take)
        # One that got through without an answer left nothing to do for the one after it.
        return max(new)

    def delete(self, session: str, *, expected: str | None) -> None:
        """Remove the session and all its events.

        Raises:
            HeadMoved: the head is not `expected`: somebody is at work on it.
        """
        row = {"session": key(session), "expected": key_or_none(expected)}

        def remove(connection: Connection, tries: int) -> str:
            """If it was tried before, without an answer, the session may be gone already."""
            verdict = _answer(connection, "forget", row)
            return "done" if tries and connection.execute(query("session"), row).fetchone() is None else verdict

        _heed(self._connections.ask(remove), session, SessionHead())

    def leaves(self, session: str) -> list[str]:
        """The ends of the session's branches, in the order they were written."""
        return [event_id(leaf, body) for leaf, body in self._rows("leaves", session=key(session))]

    def sessions(self) -> list[SessionInfo]:
        """Every session, the one written to last first."""
        return [SessionInfo(from_sql(name), *rest) for name, *rest in self._rows("sessions")]

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        """Wait until the head is not `head`; False when `timeout` seconds passed first.

        All who wait on this object share one connection, on which the server tells of every change.
        """
        if timeout <= 0:
            return self.session_head(session).head != head
        self._connections.check()
        until = monotonic() + timeout
        with self._listener.bell(key(session)) as bell:
            while self.session_head(session).head == head:
                left = until - monotonic()
                if left <= 0:
                    return False
                bell.wait(min(left, RECHECK_SECONDS))
                bell.clear()
        return True

    def check(self, _progress: Progress | None = None) -> Iterator[Finding]:
        """What is to be said of the database's health, piece by piece as it is found."""
        return findings(self._rows)

    def compact(self) -> None:
        """Nothing: the server's autovacuum reuses space."""

    def close(self) -> None:
        """Let go of the server; whoever waits is told. A closed store is not used again."""
        self._let_go()
        self._listener.ring()

    def _rows(self, name: str, **said: Any) -> list[tuple[Any, ...]]:
        return self._connections.ask(lambda connection, _tries: connection.execute(query(name), said).fetchall())

    def _way(
        self, session: str, head: str | None, steps: int, *, to_snapshot: bool = False
    ) -> list[tuple[str, str | None]]:
        """Some events and their parents' ids, from an event backwards."""
        row = {"head": head, "steps": steps, "bytes": ABOUT_BYTES, "to_snapshot": to_snapshot}
        return self._rows("history", session=key(session), **row)

    def _backwards(self, session: str, way: list[tuple[str, str | None]]) -> Iterator[Event]:
        steps = FIRST_STEPS
        while way:
            for body, _ in way:
                yield self._decoded(body)
            _, parent = way[-1]
            if parent is None:
                return
            way = self._way(session, parent, steps)
            if not way:
                raise UnknownEvent(from_sql(parent))
            steps = min(steps * GROWTH, MOST_STEPS)

    def _in_order(self, session: str, number: int, many: int) -> Iterator[Event]:
        """The events of the session with that number in the database, as many as there were."""
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
    """The one word that a query gives; none, if it finds nothing."""
    found = connection.execute(query(name), row).fetchone()
    return str(found[0]) if found else ""


def _heed(verdict: str, session: str, to: SessionHead) -> None:
    """Raise what the server found wrong, if anything."""
    if verdict == "overtaken":
        raise HeadMoved(session)
    if verdict == "unknown":
        raise UnknownEvent(to.head)


def _taken(connection: Connection, session: str, events: list[Event], columns: dict[str, Any]) -> int:
    """How many of some events were new."""
    found = connection.execute(query("adopt"), named(session) | columns).fetchone()
    new, orphan, other = found or (0, None, None)
    if orphan:
        raise UnknownEvent(events[orphan - 1].parent)
    if other:
        raise StoreError(f"{session!r} has another event {events[other - 1].id!r}")
    return int(new)


def _let_go(connections: Connections, listener: Listener, process: int) -> None:
    # What a forked process has inherited is its parent's.
    if process == os.getpid():
        connections.close()
        listener.close()
