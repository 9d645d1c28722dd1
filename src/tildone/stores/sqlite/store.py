"""The SQLite store. Its methods are documented by `Store` in `tildone.log.store`.

Theory of operation. Concurrency is optimistic: an event names its parent, and an append succeeds only if that is still
the session's head. Append is a single INSERT. A BEFORE trigger compares the parent with the head and aborts if they
differ; an AFTER trigger moves the head, so no writer of any program can bypass the check. A single statement
takes the write lock before it reads, as BEGIN IMMEDIATE would, so nothing happens between check and move. Changes of
several statements run in such a transaction, as appends with a fence do (`tildone.stores.sqlite.records`).

Readers never wait for writers: the file is in WAL mode. An event is immutable, so a history may be read row by row
without a transaction, while the head moves on. Every event has a CRC, which detects changed bytes. The event that was
read or written last is kept with its row: as long as the row is the same, it is not decoded again.
"""

from __future__ import annotations

import os

import apsw

from tildone.base import TYPE_CHECKING, HeadMoved, UnknownEvent
from tildone.plan import codec
from tildone.plan.events import Event, SessionHead, SessionInfo
from tildone.stores import TIMEOUT_SECONDS
from tildone.stores.sqlite import schema as queries
from tildone.stores.sqlite.file import SqliteFile
from tildone.stores.sqlite.records import SqliteRecords
from tildone.stores.sqlite.rows import event_in, info_in, insert_event, insert_unknown, session_head_in, set_head
from tildone.stores.sqlite.schema import Transaction, damaged, from_sql, to_sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from tildone.log.kept import Finding
    from tildone.log.store import ProgressCallback
    from tildone.plan.runs import RunFence
    from tildone.stores.leasing import Recorder, RunLeases, RunLists
    from tildone.stores.sqlite.leases import Machine

BATCH_CHARACTERS = 100_000
"""About how many characters of events are read at once; a single event may be longer."""


class SqliteStore:
    """A store in a SQLite file. Acknowledged changes are on disk. After a fork, a process must open its own.

    Raises StoreError if the file cannot be used; the subclass says why. Any method may raise it.
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
        self.records = SqliteRecords(self._file, fence)
        self._newest: tuple[tuple[Any, ...], Event | None] = (), None

    def session_head(self, session: str) -> SessionHead:
        with self._file as connection:
            row = connection.execute(queries.SESSION_HEAD, (to_sql(session),)).get
            if row is not None:
                return session_head_in(row, session, self._file.path)
            self._check_count(connection, session)
        return SessionHead()

    def history(self, session: str, head: str | None = None) -> Iterator[Event]:
        if head is not None:
            event = self._event(session, head)
            if event is None:
                raise UnknownEvent(head)
            return self._ancestors(session, event)
        newest = self.session_head(session).head
        return iter(()) if newest is None else self._ancestors(session, self._known_event(session, newest))

    def events(self, session: str) -> Iterator[Event]:
        # Late, because few callers read all events.
        from array import array

        with self._file as connection:
            # The count comes first: if nothing is lost, there are at least as many events after it.
            count = connection.execute(queries.EVENT_COUNT, (to_sql(session),)).get or 0
            numbers = array("q", (seq for (seq,) in connection.execute(queries.EVENT_NUMBERS, (to_sql(session),))))
            if not len(numbers) >= count > 0:
                self._check_count(connection, session)
        return self._events_numbered(session, numbers)

    def append(self, session: str, event: Event, seen_by: str = "") -> None:
        with self._file as connection:
            self._file.record_stamp_once()
            if self._fence is None:
                # The single statement is a transaction of its own.
                row = insert_event(connection, session, event, seen_by)
            else:
                with Transaction(connection, self._fence):
                    row = insert_event(connection, session, event, seen_by)
            self._newest = row, event
            self._file.notify()

    def move_head(self, session: str, to: SessionHead, *, expected: str | None) -> None:
        def move(connection: apsw.Connection) -> None:
            _check_head(connection, session, expected)
            set_head(connection, to_sql(session), to)

        self._file.write(move, self._fence)

    def import_events(self, session: str, events: Iterable[Event], to: SessionHead) -> int:
        def insert(connection: apsw.Connection) -> int:
            new = insert_unknown(connection, session, events)
            set_head(connection, to_sql(session), to)
            return new

        return self._file.write(insert, self._fence)

    def delete(self, session: str, *, expected: str | None) -> None:
        def remove(connection: apsw.Connection) -> None:
            _check_head(connection, session, expected)
            for statement in queries.DELETE_SESSION:
                connection.execute(statement, (to_sql(session),))

        self._file.write(remove, self._fence)

    def leaves(self, session: str) -> list[str]:
        with self._file as connection:
            rows: list[Any] = connection.execute(queries.LEAVES, {"session": to_sql(session)}).fetchall()
            return [from_sql(leaf) for (leaf,) in rows]

    def sessions(self) -> list[SessionInfo]:
        with self._file as connection:
            return [info_in(row, self._file.path) for row in connection.execute(queries.SESSIONS).fetchall()]

    def session_info(self, session: str) -> SessionInfo | None:
        with self._file as connection:
            row = connection.execute(queries.SESSION_INFO, (to_sql(session),)).get
            return None if row is None else info_in(row, self._file.path)

    def unreadable(self) -> list[str]:
        return []

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        # Late, because few callers wait.
        from tildone.stores.polling import wait_until

        return wait_until(self._file.changed, lambda: self.session_head(session).head != head, timeout)

    def check(self, progress: ProgressCallback | None = None) -> Iterator[Finding]:
        """Check the integrity of one snapshot of the file, on a separate connection that blocks nobody."""
        # Late, because few commands need it.
        from tildone.stores.sqlite.upkeep import findings_in_file

        return findings_in_file(self._file.path, progress)

    def compact(self) -> int:
        # Late, because it loads a lot.
        from tildone.stores.sqlite.upkeep import compact

        return compact(self._file)

    def leases(self, recorder: Recorder, machine: Machine | None = None) -> RunLeases:
        """Return the leases of runs, by default with the clock of this machine."""
        # Late, because only workers and their commands need them.
        from tildone.stores.leasing import RunLeases
        from tildone.stores.sqlite.leases import SqliteLeaseTables

        return RunLeases(self, SqliteLeaseTables(self, self._file, recorder, machine), recorder)

    def run_lists(self) -> RunLists:
        # Late, because only screens need them.
        from tildone.stores.leasing import READER, RunLists
        from tildone.stores.sqlite.leases import SqliteLeaseTables

        return RunLists(SqliteLeaseTables(self, self._file, READER))

    def close(self) -> None:
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
        known, event = self._newest
        if event is None or row != known:
            event = event_in(row, self._file.path)
            self._newest = row, event
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


def _check_head(connection: apsw.Connection, session: str, expected: str | None) -> None:
    if connection.execute(queries.HEAD, (to_sql(session),)).get != to_sql(expected):
        raise HeadMoved(session)
