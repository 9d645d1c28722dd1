"""The SQLite store.

Theory of operation. Concurrency is optimistic: an event names its parent, and an append succeeds only if that is still
the session's head. Append is a single INSERT. A BEFORE trigger compares the parent with the head and aborts if they
differ; an AFTER trigger moves the head, so no writer of any program can bypass the check. A single statement
takes the write lock before it reads, as BEGIN IMMEDIATE would, so nothing happens between check and move. Changes of
several statements run in such a transaction, as appends with a fence do (`tildone.stores.sqlite.claims`).

Readers never wait for writers: the file is in WAL mode. An event is immutable, so a history may be read row by row
without a transaction, while the head moves on. Every event has a CRC, which detects changed bytes.
"""

from __future__ import annotations

import os

import apsw

from tildone.errors import HeadMoved, UnknownEvent
from tildone.log import codec
from tildone.log.tree import SessionHead
from tildone.stores.base import TIMEOUT_SECONDS
from tildone.stores.sqlite import queries
from tildone.stores.sqlite.claims import SqliteClaims, set_head
from tildone.stores.sqlite.decoding import change_in, event_in, info_in, session_head_in
from tildone.stores.sqlite.failures import damaged
from tildone.stores.sqlite.file import SqliteFile
from tildone.stores.sqlite.records import SqliteRecords
from tildone.stores.sqlite.schema import from_sql, to_sql
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from tildone.log.events import Event
    from tildone.log.findings import Finding
    from tildone.log.fleet.lease import RunFence
    from tildone.log.store import ProgressCallback
    from tildone.log.tree import SessionChange, SessionInfo
    from tildone.stores.scribe import Scribe
    from tildone.stores.sqlite.lease_transaction import Machine
    from tildone.stores.sqlite.leases import SqliteLeases

BATCH_CHARACTERS = 100_000
"""About how many characters of events are read at once; a single event may be longer."""


class SqliteStore(SqliteClaims, SqliteRecords):
    """A store in a SQLite file. Acknowledged changes are on disk. After a fork, a process must open its own.

    Raises:
        StoreError: the file cannot be used; the subclass says why. Any method may raise it.
    """

    durable = True
    user = ""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        timeout: float = TIMEOUT_SECONDS,
        read_only: bool = False,
        fence: RunFence | None = None,
    ) -> None:
        # To SQLite an absolute path is never ":memory:" or a URI, and it survives a change of the working directory.
        self._file = SqliteFile(os.path.abspath(path), timeout, read_only=read_only)
        self._fence = fence

    def session_head(self, session: str) -> SessionHead:
        """Return the head of the session and its redo list."""
        with self._file as connection:
            row = connection.execute(queries.SESSION_HEAD, (to_sql(session),)).get
            if row is not None:
                return session_head_in(row, session, self._file.path)
            self._check_count(connection, session)
        return SessionHead()

    def history(self, session: str, head: str | None = None) -> Iterator[Event]:
        """Return the events from `head`, by default the session's own, to the root, newest first.

        Raises:
            UnknownEvent: `head` is not in this session.
        """
        if head is not None:
            event = self._event(session, head)
            if event is None:
                raise UnknownEvent(head)
            return self._ancestors(session, event)
        newest = self.session_head(session).head
        return iter(()) if newest is None else self._ancestors(session, self._known_event(session, newest))

    def events(self, session: str) -> Iterator[Event]:
        """Return every event of every branch, in the order they were written."""
        # Late, because few callers read all events.
        from array import array  # noqa: PLC0415  see above

        with self._file as connection:
            # The count comes first: if nothing is lost, there are at least as many events after it.
            count = connection.execute(queries.EVENT_COUNT, (to_sql(session),)).get or 0
            numbers = array("q", (seq for (seq,) in connection.execute(queries.EVENT_NUMBERS, (to_sql(session),))))
            if not len(numbers) >= count > 0:
                self._check_count(connection, session)
        return self._events_numbered(session, numbers)

    def append(self, session: str, event: Event, seen_by: str = "") -> None:
        """Append `event` after the head and make it the head; on disk when this returns.

        Raises:
            HeadMoved: `event.parent` is no longer the head.
        """
        with self._file as connection:
            self._file.record_stamp_once()
            self._insert(connection, session, event, seen_by)
            self._file.notify()

    def move_head(self, session: str, to: SessionHead, *, expected: str | None) -> None:
        """Make another event the head.

        Raises:
            HeadMoved: the head is no longer `expected`.
            UnknownEvent: `to` names an event that is not in this session.
        """
        name = to_sql(session)
        with self._file as connection:
            self._file.record_stamp_once()
            with self._transaction(connection):
                if connection.execute(queries.HEAD, (name,)).get != to_sql(expected):
                    raise HeadMoved(session)
                set_head(connection, name, to)
            self._file.notify()

    def import_events(self, session: str, events: Iterable[Event], to: SessionHead) -> int:
        """Insert events of another store, whatever the current head, then set the head: all of it or nothing.

        Raises:
            UnknownEvent: the parent of an event, or the new head, is neither in this session nor among `events`.
            StoreError: this session has a different event with the same id.
        """
        # Late, because few callers import.
        from tildone.stores.sqlite.importing import insert_unknown  # noqa: PLC0415  see above

        with self._file as connection:
            self._file.record_stamp_once()
            with self._transaction(connection):
                new = insert_unknown(connection, session, events)
                set_head(connection, to_sql(session), to)
            self._file.notify()
        return new

    def seen(self, session: str, reader: str) -> str | None:
        """Return the head that a reader has seen."""
        with self._file as connection:
            head = connection.execute(queries.SEEN, (to_sql(session), to_sql(reader))).get
        return None if head is None else from_sql(head)

    def set_seen(self, session: str, reader: str, head: str | None) -> None:
        """Record the head that a reader has seen; None removes the record."""
        with self._file as connection:
            self._file.record_stamp_once()
            row = {"session": to_sql(session), "reader": to_sql(reader), "head": to_sql(head)}
            connection.execute(queries.DELETE_SEEN if head is None else queries.SET_SEEN, row)

    def delete(self, session: str, *, expected: str | None) -> None:
        """Delete the session, all its events, and what is kept beside them.

        Raises:
            HeadMoved: the head is not `expected`: another writer is using the session.
        """
        name = to_sql(session)
        with self._file as connection:
            self._file.record_stamp_once()
            with self._transaction(connection):
                if connection.execute(queries.HEAD, (name,)).get != to_sql(expected):
                    raise HeadMoved(session)
                for statement in queries.DELETE_SESSION:
                    connection.execute(statement, (name,))
            self._file.notify()

    def leaves(self, session: str) -> list[str]:
        """Return the newest event of each branch, in the order they were written."""
        with self._file as connection:
            rows: list[Any] = connection.execute(queries.LEAVES, {"session": to_sql(session)}).fetchall()
            return [from_sql(leaf) for (leaf,) in rows]

    def sessions(self) -> list[SessionInfo]:
        """Return every session, the most recently written first."""
        with self._file as connection:
            return [info_in(row, self._file.path) for row in connection.execute(queries.SESSIONS).fetchall()]

    def session_info(self, session: str) -> SessionInfo | None:
        """Return the entry of one session; None if it does not exist."""
        with self._file as connection:
            row = connection.execute(queries.SESSION_INFO, (to_sql(session),)).get
            return None if row is None else info_in(row, self._file.path)

    def unreadable(self) -> list[str]:
        """Return nothing: `sessions` leaves nothing out."""
        return []

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        """Wait until the head is not `head`; return False if `timeout` seconds pass first."""
        # Late, because few callers wait.
        from tildone.stores.polling import wait_until  # noqa: PLC0415  see above

        return wait_until(self._file.changed, lambda: self.session_head(session).head != head, timeout)

    def revision(self) -> int:
        """Return the newest revision; triggers of the schema make one for every change."""
        with self._file as connection:
            return int(connection.execute(queries.REVISION).get)

    def changed(self, since: int) -> list[SessionChange]:
        """Return the sessions that changed after a revision, the oldest change first."""
        with self._file as connection:
            rows: list[Any] = connection.execute(queries.CHANGED, {"since": since}).fetchall()
            return [change_in(row) for row in rows]

    def wait_any(self, revision: int, timeout: float) -> bool:
        """Wait until the revision is not `revision`; return False if `timeout` seconds pass first."""
        # Late, because few callers wait.
        from tildone.stores.polling import wait_until  # noqa: PLC0415  see above

        return wait_until(self._file.changed, lambda: self.revision() != revision, timeout)

    def check(self, progress: ProgressCallback | None = None) -> Iterator[Finding]:
        """Check the integrity of one snapshot of the file, on a separate connection that blocks nobody."""
        # Late, because few commands need it.
        from tildone.stores.sqlite.checking import findings_in_file  # noqa: PLC0415  see above

        return findings_in_file(self._file.path, progress)

    def compact(self) -> int:
        """Return unused space to the file system if there is enough of it; return the number of bytes freed.

        Raises:
            StoreError: the disk has no room for a temporary copy. The store is unchanged.
        """
        # Late, because it loads a lot.
        from tildone.stores.sqlite.compaction import compact  # noqa: PLC0415  see above

        return compact(self._file)

    def leases(self, scribe: Scribe, machine: Machine | None = None) -> SqliteLeases:
        """Return the leases of runs, by default with the clock of this machine."""
        # Late, because only workers and their commands need them.
        from tildone.stores.sqlite.leases import SqliteLeases  # noqa: PLC0415  see above

        return SqliteLeases(self, self._file, scribe, machine)

    def close(self) -> None:
        """Close the file. A closed store must not be used again."""
        self._file.close()

    def _ancestors(self, session: str, event: Event) -> Iterator[Event]:
        yield event
        while event.parent is not None:
            event = self._known_event(session, event.parent)
            yield event

    def _known_event(self, session: str, event_id: str) -> Event:
        """Return an event that the session has, unless it was deleted at this moment or the store is damaged."""
        event = self._event(session, event_id)
        if event is None:
            raise damaged(self._file.path, f"session {session!r} has lost event {event_id!r}")
        return event

    def _event(self, session: str, event_id: str) -> Event | None:
        with self._file as connection:
            row = connection.execute(queries.EVENT, (to_sql(session), to_sql(event_id))).get
        if row is None:
            return None
        event = event_in(row, self._file.path)
        if event.id != event_id:
            raise damaged(self._file.path, f"the index has event {event.id!r} as {event_id!r}")
        return event

    def _events_numbered(self, session: str, numbers: Sequence[int]) -> Iterator[Event]:
        """Return the events of these row numbers, read in batches of bounded size."""
        begin, count = 0, 1
        while begin < len(numbers):
            batch = list(numbers[begin : begin + count])
            with self._file as connection:
                parameters = codec.dump(batch), to_sql(session)
                rows: list[Any] = connection.execute(queries.EVENTS_BY_NUMBER, parameters).fetchall()
                exists = len(rows) == len(batch) or connection.execute(queries.EVENT_COUNT, (to_sql(session),)).get
            yield from (event_in(row, self._file.path) for row in rows)
            if not exists:
                # The session was deleted while it was read.
                return
            if len(rows) < len(batch):
                raise damaged(self._file.path, f"session {session!r} has lost events")
            begin += count
            count = max(1, min(2 * count, BATCH_CHARACTERS * count // sum(len(body) for body, _ in rows)))

    def _check_count(self, connection: apsw.Connection, session: str) -> None:
        if connection.execute(queries.MISCOUNTED, (to_sql(session),)).get:
            raise damaged(self._file.path, f"session {session!r} does not have the events that it should have")
