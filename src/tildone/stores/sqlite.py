"""Sessions kept in one SQLite file, shared by every thread and process that opens it."""

import os
from time import monotonic

import apsw

from tildone.errors import HeadMoved, StoreDamaged, StoreError, UnknownEvent
from tildone.log import codec
from tildone.log.tree import Place, SessionInfo
from tildone.stores.sqlite_file import HEAD_MOVED, SqliteFile, Transaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tildone.log.events import Event
    from tildone.log.health import Finding

PATIENCE = 30.0

FIRST_LOOK = 0.005
LAST_LOOK = 0.05

_PLACE = "SELECT head, ahead FROM sessions WHERE name = ?"
_HEAD = "SELECT head FROM sessions WHERE name = ?"
_BODY = "SELECT body FROM events WHERE session = ? AND id = ?"
_BODY_AT = "SELECT body FROM events WHERE seq = ?"
_KNOWN = "SELECT 1 FROM events WHERE session = ? AND id = ?"
_SEQS = "SELECT seq FROM events WHERE session = ? ORDER BY seq"
_LEAVES = """
SELECT id FROM events WHERE session = :session AND id NOT IN
    (SELECT parent FROM events WHERE session = :session AND parent IS NOT NULL)
ORDER BY seq
"""
_SESSIONS = "SELECT name, events, created, updated FROM sessions ORDER BY newest DESC"
_APPEND = "INSERT INTO events (session, id, parent, at, body) VALUES (?, ?, ?, ?, ?)"
_MOVE = "UPDATE sessions SET head = ?, ahead = ? WHERE name = ?"
_FORGET = ("DELETE FROM events WHERE session = ?", "DELETE FROM sessions WHERE name = ?")


class SqliteStore:
    """A store in a file. What it has acknowledged is on disk; a process that forks opens one of its own.

    Raises:
        StoreError: the file cannot be used; which of the family says why. Any method may raise it.
    """

    durable = True

    def __init__(self, path: "str | os.PathLike[str]", *, patience: float = PATIENCE) -> None:
        # Made absolute, so that SQLite sees neither ":memory:" nor a URI, and a change of folder does no harm.
        self._file = SqliteFile(os.path.abspath(path), patience)

    def place(self, session: str) -> Place:
        """Where the session stands."""
        with self._file as connection:
            row = connection.execute(_PLACE, (_kept(session),)).get
        if row is None:
            return Place()
        head, ahead = row
        return Place(None if head is None else _text(head), () if ahead == "[]" else tuple(codec.parse(ahead)))

    def history(self, session: str, head: str | None = None) -> "Iterator[Event]":
        """The events from `head` (the session's own, unless another is named) to the root, newest first.

        Raises:
            UnknownEvent: `head` is not in this session.
        """
        newest = self.place(session).head if head is None else head
        return iter(()) if newest is None else self._backwards(session, self._event(session, newest))

    def events(self, session: str) -> "Iterator[Event]":
        """Every event of every branch, in the order they were written."""
        with self._file as connection:
            seqs = [seq for (seq,) in connection.execute(_SEQS, (_kept(session),))]
        return map(self._event_at, seqs)

    def append(self, session: str, event: "Event") -> None:
        """Hang `event` under the head and make it the head; on disk when this returns.

        Raises:
            HeadMoved: `event.parent` is no longer the head.
        """
        row = (_kept(session), _kept(event.id), _kept(event.parent), event.at, codec.encode(event))
        with self._file as connection:
            try:
                # One statement, so it has the write lock before it looks at the head, as a transaction would.
                connection.execute(_APPEND, row)
            except apsw.ConstraintError as error:
                if str(error) == HEAD_MOVED:
                    raise HeadMoved(session) from error
                raise StoreError(f"{session!r} has an event {event.id!r} already") from error
            self._file.changed.notify_all()

    def move(self, session: str, to: Place, *, expected: str | None) -> None:
        """Make another event the head.

        Raises:
            HeadMoved: the head is no longer `expected`.
            UnknownEvent: the place names an event that is not in this session.
        """
        name, head = _kept(session), _kept(to.head)
        with self._file as connection:
            with Transaction(connection):
                if connection.execute(_HEAD, (name,)).get != _kept(expected):
                    raise HeadMoved(session)
                if to.head is not None and connection.execute(_KNOWN, (name, head)).get is None:
                    raise UnknownEvent(to.head)
                connection.execute(_MOVE, (head, codec.dump(to.ahead), name))
            self._file.changed.notify_all()

    def adopt(self, session: str, events: "Iterable[Event]", to: Place) -> int:
        """Take over events as another store has them, wherever the head is, and stand at `to`: all of it or nothing.

        Raises:
            UnknownEvent: the parent of an event, or the head to stand at, is neither here nor among them.
            StoreError: another event of the same id is here.
        """
        name, head = _kept(session), _kept(to.head)
        with self._file as connection:
            with Transaction(connection):
                new = sum(_adopted(connection, name, event) for event in events)
                if to.head is not None and connection.execute(_KNOWN, (name, head)).get is None:
                    raise UnknownEvent(to.head)
                connection.execute(_MOVE, (head, codec.dump(to.ahead), name))
            self._file.changed.notify_all()
        return new

    def forget(self, session: str, *, expected: str | None) -> None:
        """Remove the session and all its events.

        Raises:
            HeadMoved: the head is not `expected`: somebody is at work on it.
        """
        name = _kept(session)
        with self._file as connection:
            with Transaction(connection):
                if connection.execute(_HEAD, (name,)).get != _kept(expected):
                    raise HeadMoved(session)
                for sql in _FORGET:
                    connection.execute(sql, (name,))
            self._file.changed.notify_all()

    def leaves(self, session: str) -> list[str]:
        """The ends of the session's branches, in the order they were written."""
        with self._file as connection:
            return [_text(leaf) for (leaf,) in connection.execute(_LEAVES, {"session": _kept(session)})]

    def sessions(self) -> list[SessionInfo]:
        """Every session, the one written to last first."""
        with self._file as connection:
            return [SessionInfo(_text(name), *rest) for name, *rest in connection.execute(_SESSIONS)]

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        """Wait until the head is not `head`; False when `timeout` seconds passed first.

        A change made through this object is noticed at once, one made elsewhere within a twentieth of a second.
        """
        until = monotonic() + timeout
        pause = FIRST_LOOK
        with self._file.changed:
            while self.place(session).head == head:
                left = until - monotonic()
                if left <= 0:
                    return False
                self._file.changed.wait(min(pause, left))
                pause = min(pause * 1.5, LAST_LOOK)
        return True

    def examine(self) -> "Iterator[Finding]":
        """What is to be said of the file's health, piece by piece as it is found."""
        return iter(())

    def close(self) -> None:
        """Let go of the file. A closed store is not used again."""
        self._file.close()

    def _backwards(self, session: str, event: "Event") -> "Iterator[Event]":
        yield event
        while event.parent is not None:
            event = self._event(session, event.parent)
            yield event

    def _event(self, session: str, event_id: str) -> "Event":
        with self._file as connection:
            body = connection.execute(_BODY, (_kept(session), _kept(event_id))).get
        if body is None:
            raise UnknownEvent(event_id)
        return self._decoded(body)

    def _event_at(self, seq: int) -> "Event":
        with self._file as connection:
            return self._decoded(connection.execute(_BODY_AT, (seq,)).get)

    def _decoded(self, body: str) -> "Event":
        try:
            return codec.decode(body)
        except codec.Unreadable as error:
            raise StoreDamaged(f"{self._file.path} is damaged: {error}") from error


def _adopted(connection: apsw.Connection, name: str | bytes | None, event: "Event") -> bool:
    """Whether the event was new. It hangs under its parent because the head is put there first."""
    event_id, parent, body = _kept(event.id), _kept(event.parent), codec.encode(event)
    here = connection.execute(_BODY, (name, event_id)).get
    if here is not None:
        if here != body:
            raise StoreError(f"another event {event.id!r} is here already")
        return False
    if parent is not None and connection.execute(_KNOWN, (name, parent)).get is None:
        raise UnknownEvent(event.parent)
    connection.execute(_MOVE, (parent, "[]", name))
    connection.execute(_APPEND, (name, event_id, parent, event.at, body))
    return True


def _kept(text: str | None) -> str | bytes | None:
    """Text as SQLite can hold it: bytes, when half a surrogate pair makes it unfit for UTF-8."""
    if text is None or text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _text(kept: str | bytes) -> str:
    return kept if isinstance(kept, str) else kept.decode("utf-8", "surrogatepass")
