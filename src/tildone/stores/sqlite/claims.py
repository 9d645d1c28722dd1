"""The claims of a SQLite store, and writing to its log in one transaction with them.

Theory of operation. Claims are read, computed (`tildone.log.claims`) and written in one transaction, which has the
write lock from its beginning. An event with a fence is inserted in the same transaction. Only the claims of the tasks
in question are read: those that an event changes, and those that the agent holds or has lost.
"""

from __future__ import annotations

from binascii import crc32
from time import time_ns

import apsw

from tildone.errors import HeadMoved, StoreError, UnknownEvent
from tildone.log import codec
from tildone.stores.sqlite import queries
from tildone.stores.sqlite.schema import HEAD_MOVED, Transaction, to_sql
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from tildone.log.claims import Claim, Claimant, ClaimFence
    from tildone.log.events import Event
    from tildone.log.fleet.lease import RunFence
    from tildone.log.tree import SessionHead
    from tildone.stores.sqlite.file import SqliteFile

    Change = Callable[[list[Claim], int], list[Claim]]


class SqliteClaims:
    """The part of a SQLite store that has to do with claims."""

    _file: SqliteFile
    _fence: RunFence | None

    def append_fenced(self, session: str, event: Event, seen_by: str, fence: ClaimFence) -> list[Claim]:
        """Append `event` as `append` does, if the fence allows it; return the claims that it takes.

        Raises:
            HeadMoved: `event.parent` is no longer the head.
            Fenced: tasks that the event changes, or that the writer had, are those of other agents.
        """
        from tildone.log.claims import fenced, taken  # noqa: PLC0415  as in `claim`

        with self._file as connection:
            self._file.record_stamp_once()
            with self._transaction(connection):
                insert_event(connection, session, event, seen_by)
                before, now = (
                    _claims_of(connection, session, fence.claimant.agent, fence.changes | fence.beside),
                    _now(),
                )
                after = fenced(session, before, fence, now)
                _write(connection, session, before, after)
            self._file.notify()
        return taken(before, after, now)

    def claim(self, session: str, task: int, claimant: Claimant, lease: int) -> Claim:
        """Claim a task, and return its newest claim."""
        # Late, because most hooks claim nothing.
        from tildone.log.claims import claimed, current  # noqa: PLC0415  see above

        def change(known: list[Claim], now: int) -> list[Claim]:
            return claimed(known, task, claimant, lease, now)

        after, now = self._change_claims(session, claimant.agent, [task], change)
        return next(claim for claim in current(after, now) if claim.task == task)

    def renew(self, session: str, agent: str, lease: int) -> list[Claim]:
        """Renew the leases of an agent; return the claims of tasks that it has lost."""
        from tildone.log.claims import lost_by, renewed  # noqa: PLC0415  as in `claim`

        after, now = self._change_claims(session, agent, (), lambda known, now: renewed(known, agent, lease, now))
        return lost_by(after, agent, now)

    def release(self, session: str, agent: str, tasks: frozenset[int] | None = None) -> None:
        """Give back the tasks of an agent."""
        from tildone.log.claims import released  # noqa: PLC0415  as in `claim`

        self._change_claims(session, agent, (), lambda known, _now: released(known, agent, tasks))

    def lapse(self, session: str, agent: str) -> None:
        """End the leases of an agent."""
        from tildone.log.claims import lapsed  # noqa: PLC0415  as in `claim`

        self._change_claims(session, agent, (), lambda known, _now: lapsed(known, agent))

    def claims(self, session: str) -> list[Claim]:
        """Return the newest claim of each task that was not given back."""
        with self._file as connection:
            rows: list[Any] = connection.execute(queries.CLAIMS, (to_sql(session),)).fetchall()
        return _decoded(rows, _now()) if rows else []

    def _change_claims(self, session: str, agent: str, tasks: Iterable[int], change: Change) -> tuple[list[Claim], int]:
        """Change the claims of an agent and of some tasks; return them, and the time at which it was done."""
        with self._file as connection:
            if not tasks and not connection.execute(queries.HAS_CLAIMS, (to_sql(session), to_sql(agent))).get:
                return [], 0
            self._file.record_stamp_once()
            with self._transaction(connection):
                before, now = _claims_of(connection, session, agent, tasks), _now()
                after = change(before, now)
                _write(connection, session, before, after)
        return after, now

    def _insert(self, connection: apsw.Connection, session: str, event: Event, seen_by: str) -> None:
        """Append an event. Without a fence, the single statement is a transaction of its own."""
        if self._fence is None:
            insert_event(connection, session, event, seen_by)
            return
        with self._transaction(connection):
            insert_event(connection, session, event, seen_by)

    def _transaction(self, connection: apsw.Connection) -> Transaction:
        """Return a write transaction. If this process works for a run, it is refused when the run has passed on."""
        if self._fence is None:
            return Transaction(connection)
        # Late, because few processes work for a run.
        from tildone.stores.sqlite.fence import FencedTransaction  # noqa: PLC0415  see above

        return FencedTransaction(connection, self._fence)


def insert_event(connection: apsw.Connection, session: str, event: Event, seen_by: str) -> None:
    """Append an event, and record that a reader has seen it, if one is named.

    Raises:
        HeadMoved: `event.parent` is no longer the head.
        StoreError: the session has an event with this id.
    """
    body = codec.encode(event)
    row = (to_sql(session), to_sql(event.id), to_sql(event.parent), event.at, body, crc32(body.encode()))
    try:
        if seen_by:
            connection.execute(queries.APPEND_SEEN, (*row, to_sql(seen_by)))
        else:
            connection.execute(queries.APPEND, row)
    except apsw.ConstraintError as error:
        if str(error) == HEAD_MOVED:
            raise HeadMoved(session) from error
        raise StoreError(f"{session!r} has an event {event.id!r} already") from error


def set_head(connection: apsw.Connection, name: str | bytes | None, to: SessionHead) -> None:
    """Set the head and the redo stack of the session that has this name in SQL.

    Raises:
        UnknownEvent: `to` names an event that is not in this session.
    """
    head = to_sql(to.head)
    if to.head is not None and connection.execute(queries.EVENT_EXISTS, (name, head)).get is None:
        raise UnknownEvent(to.head)
    connection.execute(queries.MOVE_HEAD, (head, codec.dump(to.redo), name))


def _claims_of(connection: apsw.Connection, session: str, agent: str, tasks: Iterable[int]) -> list[Claim]:
    """Return all claims of these tasks, and of those that the agent holds or has lost."""
    row = {"session": to_sql(session), "agent": to_sql(agent), "tasks": codec.dump(sorted(tasks))}
    rows: list[Any] = connection.execute(queries.CLAIMS_OF, row).fetchall()
    return _decoded(rows, 0)


def _decoded(rows: Iterable[tuple[int, int, int, str, str]], now: int) -> list[Claim]:
    from tildone.log.claims import decode_claim  # noqa: PLC0415  as in `claim`

    return [decode_claim(task, epoch, until, (holder, before), now) for task, epoch, until, holder, before in rows]


def _write(connection: apsw.Connection, session: str, before: list[Claim], after: list[Claim]) -> None:
    from tildone.log.claims import encode_claimant  # noqa: PLC0415  as in `claim`

    name, unchanged, kept = to_sql(session), set(before), {(claim.task, claim.epoch) for claim in after}
    for claim in before:
        if (claim.task, claim.epoch) not in kept:
            connection.execute(queries.DELETE_CLAIM, (name, claim.task, claim.epoch))
    for claim in after:
        if claim not in unchanged:
            bodies = encode_claimant(claim.holder), encode_claimant(claim.before)
            row = (name, claim.task, claim.epoch, to_sql(claim.agent), claim.until, *bodies)
            connection.execute(queries.SET_CLAIM, row)


def _now() -> int:
    return time_ns() // 1_000_000
