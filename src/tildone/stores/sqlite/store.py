"""Sessions kept in one SQLite file, shared by every thread and process that opens it."""

from __future__ import annotations

import os
from binascii import crc32
from time import monotonic

import apsw

from tildone.errors import HeadMoved, StoreDamaged, StoreError, UnknownEvent
from tildone.log import codec
from tildone.log.tree import SessionHead, SessionInfo
from tildone.stores.sqlite.file import SqliteFile
from tildone.stores.sqlite.schema import HEAD_MOVED, Transaction, from_sql, to_sql
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from tildone.log.events import Event
    from tildone.log.health import Finding
    from tildone.log.store import Progress

TIMEOUT_SECONDS = 30.0

FIRST_POLL_SECONDS = 0.005
LONGEST_POLL_SECONDS = 0.05

COMPACT_FROM_FRACTION = 10
"""The file is packed anew when this part of it is unused: a tenth."""

BATCH_CHARACTERS = 100_000
"""How many characters of events are read at once, more or less; a single one may be longer."""

_PLACE = "SELECT head, ahead FROM sessions WHERE name = ?"
_HEAD = "SELECT head FROM sessions WHERE name = ?"
_BODY = "SELECT body, crc FROM events WHERE session = ? AND id = ?"
# The plus keeps SQLite from going through the whole session, which it takes for the shorter way.
_BODIES = "SELECT body, crc FROM events WHERE seq IN (SELECT value FROM json_each(?)) AND +session = ? ORDER BY seq"
_KNOWN = "SELECT 1 FROM events WHERE session = ? AND id = ?"
_SEQS = "SELECT seq FROM events WHERE session = ? ORDER BY seq"
_LEAVES = """
SELECT id FROM events WHERE session = :session AND id NOT IN
    (SELECT parent FROM events WHERE session = :session AND parent IS NOT NULL)
ORDER BY seq
"""
_SESSIONS = "SELECT name, events, created, updated FROM sessions ORDER BY newest DESC"
_APPEND = "INSERT INTO events (session, id, parent, at, body, crc) VALUES (?, ?, ?, ?, ?, ?)"
_MOVE = "UPDATE sessions SET head = ?, ahead = ? WHERE name = ?"
_FORGET = ("DELETE FROM events WHERE session = ?", "DELETE FROM sessions WHERE name = ?")


class SqliteStore:
    """A store in a file. What it has acknowledged is on disk; a process that forks opens one of its own.

    Raises:
        StoreError: the file cannot be used; which of the family says why. Any method may raise it.
    """

    durable = True

    def __init__(
        self, path: str | os.PathLike[str], *, timeout: float = TIMEOUT_SECONDS, read_only: bool = False
    ) -> None:
        # Made absolute, so that SQLite sees neither ":memory:" nor a URI, and a change of folder does no harm.
        self._file = SqliteFile(os.path.abspath(path), timeout, read_only=read_only)

    def session_head(self, session: str) -> SessionHead:
        """Where the session stands."""
        with self._file as connection:
            row = connection.execute(_PLACE, (to_sql(session),)).get
        if row is None:
            return SessionHead()
        head, ahead = row
        return SessionHead(None if head is None else from_sql(head), () if ahead == "[]" else self._way_forward(ahead))

    def history(self, session: str, head: str | None = None) -> Iterator[Event]:
        """The events from `head` (the session's own, unless another is named) to the root, newest first.

        Raises:
            UnknownEvent: `head` is not in this session.
        """
        newest = self.session_head(session).head if head is None else head
        return iter(()) if newest is None else self._backwards(session, self._event(session, newest))

    def events(self, session: str) -> Iterator[Event]:
        """Every event of every branch, in the order they were written."""
        # Late, because few ask for all of them.
        from array import array  # noqa: PLC0415  see above

        with self._file as connection:
            seqs = array("q", (seq for (seq,) in connection.execute(_SEQS, (to_sql(session),))))
        return self._events_at(session, seqs)

    def append(self, session: str, event: Event) -> None:
        """Hang `event` under the head and make it the head; on disk when this returns.

        Raises:
            HeadMoved: `event.parent` is no longer the head.
        """
        body = codec.encode(event)
        row = (to_sql(session), to_sql(event.id), to_sql(event.parent), event.at, body, crc32(body.encode()))
        with self._file as connection:
            self._file.note_once()
            try:
                # One statement, so it has the write lock before it looks at the head, as a transaction would.
                connection.execute(_APPEND, row)
            except apsw.ConstraintError as error:
                if str(error) == HEAD_MOVED:
                    raise HeadMoved(session) from error
                raise StoreError(f"{session!r} has an event {event.id!r} already") from error
            self._file.changed.notify_all()

    def move_head(self, session: str, to: SessionHead, *, expected: str | None) -> None:
        """Make another event the head.

        Raises:
            HeadMoved: the head is no longer `expected`.
            UnknownEvent: the place names an event that is not in this session.
        """
        name, head = to_sql(session), to_sql(to.head)
        with self._file as connection:
            self._file.note_once()
            with Transaction(connection):
                if connection.execute(_HEAD, (name,)).get != to_sql(expected):
                    raise HeadMoved(session)
                if to.head is not None and connection.execute(_KNOWN, (name, head)).get is None:
                    raise UnknownEvent(to.head)
                connection.execute(_MOVE, (head, codec.dump(to.redo), name))
            self._file.changed.notify_all()

    def import_events(self, session: str, events: Iterable[Event], to: SessionHead) -> int:
        """Take over events as another store has them, wherever the head is, and stand at `to`: all of it or nothing.

        Raises:
            UnknownEvent: the parent of an event, or the head to stand at, is neither here nor among them.
            StoreError: another event of the same id is here.
        """
        name, head = to_sql(session), to_sql(to.head)
        with self._file as connection:
            self._file.note_once()
            with Transaction(connection):
                new = _adopted(connection, name, events)
                if to.head is not None and connection.execute(_KNOWN, (name, head)).get is None:
                    raise UnknownEvent(to.head)
                connection.execute(_MOVE, (head, codec.dump(to.redo), name))
            self._file.changed.notify_all()
        return new

    def delete(self, session: str, *, expected: str | None) -> None:
        """Remove the session and all its events.

        Raises:
            HeadMoved: the head is not `expected`: somebody is at work on it.
        """
        name = to_sql(session)
        with self._file as connection:
            self._file.note_once()
            with Transaction(connection):
                if connection.execute(_HEAD, (name,)).get != to_sql(expected):
                    raise HeadMoved(session)
                for sql in _FORGET:
                    connection.execute(sql, (name,))
            self._file.changed.notify_all()

    def leaves(self, session: str) -> list[str]:
        """The ends of the session's branches, in the order they were written."""
        with self._file as connection:
            return [from_sql(leaf) for (leaf,) in connection.execute(_LEAVES, {"session": to_sql(session)})]

    def sessions(self) -> list[SessionInfo]:
        """Every session, the one written to last first."""
        with self._file as connection:
            return [SessionInfo(from_sql(name), *rest) for name, *rest in connection.execute(_SESSIONS)]

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        """Wait until the head is not `head`; False when `timeout` seconds passed first.

        A change made through this object is noticed at once, one made elsewhere within a twentieth of a second.
        """
        until = monotonic() + timeout
        pause = FIRST_POLL_SECONDS
        with self._file.changed:
            while self.session_head(session).head == head:
                left = until - monotonic()
                if left <= 0:
                    return False
                self._file.changed.wait(min(pause, left))
                pause = min(pause * 1.5, LONGEST_POLL_SECONDS)
        return True

    def check(self, progress: Progress | None = None) -> Iterator[Finding]:
        """What is to be said of the file's health, as it is at one moment; `tell` hears how many events were seen.

        It is looked at through an opening of its own, so that nobody has to wait meanwhile.
        """
        # Late, because hardly anybody asks.
        from tildone.stores.sqlite.health import findings  # noqa: PLC0415  see above

        file = SqliteFile(self._file.path, TIMEOUT_SECONDS, read_only=True)
        try:
            with file as connection:
                connection.execute("BEGIN")
                yield from findings(connection, file.path, progress)
        finally:
            file.close()

    def compact(self) -> int:
        """Give back the space of what was forgotten, if it is worth the work; how many bytes that were.

        Raises:
            StoreError: there is not enough room to do it. Nothing is lost by that.
        """
        # Late, because it brings a lot along.
        from shutil import disk_usage  # noqa: PLC0415  see above

        before = os.path.getsize(self._file.path)
        with self._file as connection:
            self._file.note_once()
            unused, pages = (connection.execute(f"PRAGMA {what}").get for what in ("freelist_count", "page_count"))
            if unused * COMPACT_FROM_FRACTION < pages:
                return 0
            if disk_usage(os.path.dirname(self._file.path)).free < 2 * before:
                raise StoreError(f"there is not enough room on the disk to pack {self._file.path} anew")
            connection.execute("VACUUM")
        self._file.bring_home()
        return max(0, before - os.path.getsize(self._file.path))

    def close(self) -> None:
        """Let go of the file. A closed store is not used again."""
        self._file.close()

    def _backwards(self, session: str, event: Event) -> Iterator[Event]:
        yield event
        while event.parent is not None:
            event = self._event(session, event.parent)
            yield event

    def _event(self, session: str, event_id: str) -> Event:
        with self._file as connection:
            row = connection.execute(_BODY, (to_sql(session), to_sql(event_id))).get
        if row is None:
            raise UnknownEvent(event_id)
        return self._decoded(*row)

    def _events_at(self, session: str, seqs: Sequence[int]) -> Iterator[Event]:
        """The events of these numbers, a few at a time, so that it does not matter how many or how long they are."""
        begin, count = 0, 1
        while begin < len(seqs):
            wanted = codec.dump(list(seqs[begin : begin + count]))
            with self._file as connection:
                rows: list[Any] = connection.execute(_BODIES, (wanted, to_sql(session))).fetchall()
            yield from (self._decoded(body, crc) for body, crc in rows)
            if not rows:
                # Somebody has forgotten the session.
                return
            begin += count
            count = max(1, min(2 * count, BATCH_CHARACTERS * count // sum(len(body) for body, _ in rows)))

    def _decoded(self, body: str, crc: int | None) -> Event:
        try:
            event = codec.decode(body)
        except codec.UndecodableEvent as error:
            raise StoreDamaged(f"{self._file.path} is damaged: {error}") from error
        if crc is not None and crc32(body.encode()) != crc:
            raise StoreDamaged(f"{self._file.path} is damaged: event {event.id!r} is not what was written")
        return event

    def _way_forward(self, ahead: str) -> tuple[str, ...]:
        try:
            return tuple(codec.parse(ahead))
        except ValueError as error:
            raise StoreDamaged(f"{self._file.path} is damaged: {error}") from error


def _adopted(connection: apsw.Connection, name: str | bytes | None, events: Iterable[Event]) -> int:
    """How many of the events were new. Each hangs under its parent because the head is put there first."""
    new = 0
    head: str | bytes | None = None
    for event in events:
        event_id, parent, body = to_sql(event.id), to_sql(event.parent), codec.encode(event)
        here = connection.execute(_BODY, (name, event_id)).get
        if here is not None:
            _compared(here[0], body, event)
            continue
        if parent is None or parent != head:
            if parent is not None and connection.execute(_KNOWN, (name, parent)).get is None:
                raise UnknownEvent(event.parent)
            connection.execute(_MOVE, (parent, "[]", name))
        connection.execute(_APPEND, (name, event_id, parent, event.at, body, crc32(body.encode())))
        head = event_id
        new += 1
    return new


def _compared(here: str, body: str, event: Event) -> None:
    """Two that are written differently may mean the same: an older tildone may have written one of them."""
    if here != body and codec.decode(here) != event:
        raise StoreError(f"another event {event.id!r} is here already")
