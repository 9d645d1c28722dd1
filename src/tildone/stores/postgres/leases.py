"""The leases of a PostgreSQL store, for workers of many machines (`tildone.stores.leasing`).

Theory of operation. Each operation is one transaction. It locks, in this order, a name (of a session or of a worker),
leases, the limits that these leases need, the session, and at last the row that tells waiting workers of a change. So
operations wait for each other, but never in a circle. Leases are measured by the clock of the server. An operation
whose connection was lost is repeated, and recognises what the first attempt did (see `tildone.stores.leasing`).

A query that returns leases locks them, and returns the time and the heads of their sessions, too,
so that most changes need one query before they write. Sessions are not locked by it: if a head has moved when an event
is appended, the transaction is repeated, and locks the heads that time.

A queued lease is chosen without a lock of all claims. Its row is locked, so nobody else takes it; rows that others have
locked are passed over. Then the locks of its provider, if that has a limit, and of its repository are taken, and what
is in use is counted under them. Leases without limits need no lock but that of their row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tildone.base import TYPE_CHECKING, HeadMoved, RunFenced
from tildone.base.json import dump
from tildone.log.kept import Finding
from tildone.log.lease_rules import Moment, admitted
from tildone.log.settings import FleetSettings
from tildone.plan import codec
from tildone.plan.events import Actor, Event, latest_state
from tildone.plan.lists import BadRow
from tildone.plan.model import next_task
from tildone.plan.runs import Claimer, CommandRefused, Kept, Lease, RunFence
from tildone.stores.leasing import COLUMNS, LeaseTransaction, Recorder, lease_in
from tildone.stores.postgres.connections import ANY_SESSION, Database, Listener
from tildone.stores.postgres.health import server_findings
from tildone.stores.postgres.rows import event_id, from_sql, key, query, row_of, session_row

if TYPE_CHECKING:
    from psycopg import Connection

T = TypeVar("T")


MAX_EVENTS_TO_PLAN = 1024
MAX_BYTES_TO_PLAN = 10_000_000

_RUN, _HAND = COLUMNS.index("run"), COLUMNS.index("hand")


class PostgresLeaseTransaction(LeaseTransaction):
    """What an operation reads and writes on a connection that is in a transaction."""

    def __init__(self, connection: Connection, recorder: Recorder, *, locks_heads: bool = False) -> None:
        self._connection, self.recorder, self._locks_heads = connection, recorder, locks_heads
        self._clock: int | None = None
        self._heads: dict[str, str | None] = {}
        self._limited_providers: set[str] = set()
        self._has_waited = False

    @property
    def at(self) -> Moment:
        if self._clock is None:
            [(self._clock,)] = self.rows("clock")
        return Moment(self._clock, self._clock)

    def lock(self, name: str) -> None:
        self.rows("lock_name", name=key(name))

    def claimable(self, who: Claimer, most: int) -> list[Lease]:
        """Return the first leases that a worker may take. Each of them seems to be within its limits."""
        return self._first("claimable", **_worker(who), most=most)

    def within_limits(self, leases: Sequence[Lease]) -> list[Lease]:
        """Return those of queued leases that limits permit to be held together, and lock these limits.

        Only the first call of a transaction waits for the locks, because it takes them in the order of all
        transactions. Later, a lease whose limits another transaction has locked is left out.
        """
        providers = {lease.work.provider for lease in leases} & self._limited_providers
        repos = {lease.work.repo for lease in leases if lease.work.repo}
        if not providers and not repos:
            return list(leases)
        row = {"providers": list(providers), "repos": list(repos), "waits": not self._has_waited}
        self._has_waited = True
        room, holders = dict.fromkeys(providers, 0), dict[str, set[str]]()
        for provider, repo, most, held, holder in self.rows("limits_in_use", **row):
            if repo is not None:
                holders.setdefault(repo, set()).update([holder] if holder is not None else [])
            elif most:
                room[provider] = most - held
            else:
                # The limit was removed meanwhile.
                del room[provider]
        return admitted(leases, room, holders)

    def lapsed(self, settings: FleetSettings, *, by_time: bool) -> tuple[Lease, str] | None:
        leases = self._first("lapsed", clock=self.at.clock, grace=settings.grace) if by_time else []
        return next(((lease, "its lease has lapsed") for lease in leases), None)

    def head(self, session: str) -> str | None:
        if session not in self._heads:
            rows = self.rows("locked_head", session=key(session))
            self._heads[session] = next((head_in(head, body) for head, body in rows), None)
        return self._heads[session]

    def has_event(self, session: str, event: str) -> bool:
        row = {"session": key(session), "id": key(event)}
        return self._connection.execute(query("body"), row).fetchone() is not None

    def append(self, session: str, event: Event) -> None:
        """Append an event to the head. The redo stack stays, unless the event contains a plan.

        Raises HeadMoved if another writer has appended an event, or has created the session.
        """
        row = session_row(session) | row_of(event)
        if self.rows("append_keeping", **row) != [("done",)]:
            raise HeadMoved(session)
        self._heads[session] = event.id

    def task(self, session: str) -> int:
        row = {"session": key(session), "head": None, "steps": MAX_EVENTS_TO_PLAN, "bytes": MAX_BYTES_TO_PLAN}
        rows = self._connection.execute(query("history"), row | {"to_snapshot": True}).fetchall()
        upcoming = next_task(latest_state(codec.decode(body) for body, _ in rows).plan)
        return upcoming[1].number if upcoming else 0

    def _first(self, statement: str, /, **row: Any) -> list[Lease]:
        """Return the leases of a query for the first ones. If these are bad rows, they are set aside."""
        while rows := self.rows(statement, **row):
            leases = self.kept(rows)
            if leases:
                return leases
            keys = [(columns[_RUN], columns[_HAND]) for columns in rows]
            row_keys = {"runs": [run for run, _ in keys], "hands": [hand for _, hand in keys]}
            self._connection.execute(query("set_aside"), row_keys)
        return []

    def execute(self, statement: str, /, **row: Any) -> None:
        self._connection.execute(query(statement), row)

    def key(self, session: str) -> str:
        return key(session)

    def session(self, stored: Any) -> str:
        return from_sql(stored)

    def texts(self, texts: Sequence[str]) -> list[str]:
        return list(texts)

    def kept(self, rows: Sequence[Sequence[Any]]) -> list[Lease]:
        leases = []
        for columns in rows:
            lease = lease_in(columns[: len(COLUMNS)], from_sql)
            if isinstance(lease, BadRow):
                self.recorder.on_bad_row(lease)
                continue
            clock, head, body, *is_limited = columns[len(COLUMNS) :]
            self._clock = clock if self._clock is None else self._clock
            if not self._locks_heads:
                self._heads.setdefault(lease.session, head_in(head, body))
            if True in is_limited:
                self._limited_providers.add(lease.work.provider)
            leases.append(lease)
        return leases

    def rows(self, statement: str, /, **row: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(query(statement), row).fetchall()


def head_in(head: str | None, body: str | None) -> str | None:
    """Return the head of a session from its key; if that is shortened, `body` is its event."""
    return None if head is None else event_id(head, body)


def _worker(who: Claimer) -> dict[str, Any]:
    quoted = dump(who.worker)
    return {"worker": who.worker, "quoted_worker": quoted, "labels": list(who.labels), "protocol": who.protocol}


class PostgresLeaseTables:
    """The leases, workers, schedules and limits in a database. The calls are documented by `LeaseTables`."""

    def __init__(self, database: Database, listener: Listener, recorder: Recorder) -> None:
        self._database = database
        self._listener = listener
        self._recorder = recorder

    def change(self, work: Callable[[LeaseTransaction], T]) -> T:
        has_moved = False

        def transaction(connection: Connection, _attempts: int) -> T:
            with connection.transaction():
                return work(PostgresLeaseTransaction(connection, self._recorder, locks_heads=has_moved))

        while True:
            try:
                return self._database.run(transaction)
            except HeadMoved:
                # Another writer has appended meanwhile, or has created the session. It is locked the next time.
                has_moved = True

    def rows(self, statement: str, /, **row: Any) -> list[tuple[Any, ...]]:
        return self._database.rows_if_any(statement, **row)

    def write(self, statement: str, /, **row: Any) -> int:
        def change(connection: Connection, _attempts: int) -> int:
            with connection.transaction():
                changed = connection.execute(query(statement), row).rowcount
                connection.execute(query("announce"))
            return changed

        return self._database.run(change)

    def timed_rows(self, statement: str, /, **row: Any) -> list[tuple[Sequence[Any], int]]:
        return [(columns, clock) for *columns, clock in self.rows(statement, **row)]

    def rows_of_sessions(self, sessions: Sequence[str]) -> list[tuple[Sequence[Any], int]]:
        return self.timed_rows("leases_of_sessions", sessions=list(map(key, sessions)))

    def renew(self, held: Sequence[RunFence], lease: int) -> list[Any]:
        # All renewals lock the rows in the same order.
        fences = sorted(held, key=lambda fence: (fence.run, fence.hand))
        row = {
            "runs": [fence.run for fence in fences],
            "hands": [fence.hand for fence in fences],
            "epochs": [fence.epoch for fence in fences],
        }
        return self.rows("renew_leases", **row, lease=lease)

    def beat(self, row: dict[str, Any], labels: Sequence[str]) -> str:
        [(ask,)] = self.rows("worker_beat", **row, labels=list(labels))
        return str(ask)

    def append(self, held: RunFence, fact: Kept | CommandRefused, event: str) -> bool:
        while self._database.run(lambda connection, _: self._verdict(connection, held, fact, event)) == "overtaken":
            continue
        return True

    def session(self, stored: Any) -> str:
        return from_sql(stored)

    def now(self) -> int:
        return next((int(clock) for (clock,) in self.rows("clock")), 0)

    def size(self) -> int:
        return next((int(size) for (size,) in self.rows("store_size")), 0)

    def wait(self, is_reached: Callable[[], bool], timeout: float) -> bool:
        return self._listener.wait(ANY_SESSION, is_reached, timeout)

    def findings(self) -> list[Finding]:
        before = self._recorder.now()
        [row] = self.rows("fleet_server")
        return server_findings(row, before, self._recorder.now())

    def _verdict(self, connection: Connection, held: RunFence, fact: Kept | CommandRefused, event: str) -> str:
        row = {"run": held.run, "hand": held.hand, "epoch": held.epoch, "id": key(event)}
        found = connection.execute(query("run_head"), row).fetchone()
        if found is None:
            raise RunFenced(held.run)
        name, _, head, body, is_there = found
        if is_there:
            return "there"
        session, recorder = from_sql(name), self._recorder
        new = Event(event, head_in(head, body), recorder.now(), Actor.AGENT, fact, recorder.author)
        row |= session_row(session) | row_of(new) | {"reader": "", "seen": None, "keeps_redo": True}
        [(verdict,)] = connection.execute(query("append_held"), row).fetchall()
        if verdict == "fenced":
            raise RunFenced(held.run)
        return str(verdict)
