"""The tables of leases in a PostgreSQL store, for workers of many machines. See `tildone.stores.leasing`.

Theory of operation. Each operation is one transaction. It locks, in this order, a name (of a session or of a worker),
leases, the limits that these leases need, the session, and at last the row that tells waiting workers of a change. So
operations wait for each other, but never in a circle. Leases are measured by the clock of the server. An operation
whose connection was lost is repeated, and recognises what the first attempt did (see `tildone.log.fleet.port`).
"""

from __future__ import annotations

from tildone.errors import HeadMoved, RunFenced
from tildone.log.events import Actor, Event
from tildone.stores.postgres.fleet_health import ServerFacts, server_findings
from tildone.stores.postgres.lease_transaction import PostgresLeaseTransaction, head_in
from tildone.stores.postgres.listener import ANY_SESSION
from tildone.stores.postgres.names import from_sql, key
from tildone.stores.postgres.queries import query
from tildone.stores.postgres.rows import row_of, session_row
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    from psycopg import Connection

    from tildone.log.findings import Finding
    from tildone.log.fleet.facts import Kept
    from tildone.log.fleet.lease import RunFence
    from tildone.stores.lease_transaction import LeaseTransaction
    from tildone.stores.postgres.database import Database
    from tildone.stores.postgres.listener import Listener
    from tildone.stores.scribe import Scribe

    T = TypeVar("T")


class PostgresLeaseTables:
    """The leases, workers, schedules and limits in a database. The calls are documented by `LeaseTables`."""

    def __init__(self, database: Database, listener: Listener, scribe: Scribe) -> None:
        self._database = database
        self._listener = listener
        self._scribe = scribe

    def change(self, work: Callable[[LeaseTransaction], T]) -> T:
        has_moved = False

        def transaction(connection: Connection, _attempts: int) -> T:
            with connection.transaction():
                return work(PostgresLeaseTransaction(connection, self._scribe, locks_heads=has_moved))

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

    def append(self, held: RunFence, fact: Kept, event: str) -> bool:
        """Append a fact: one statement checks the lease and appends."""
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
        before = self._scribe.now()
        [row] = self.rows("fleet_server")
        return server_findings(ServerFacts(*row), before, self._scribe.now())

    def _verdict(self, connection: Connection, held: RunFence, fact: Kept, event: str) -> str:
        row = {"run": held.run, "hand": held.hand, "epoch": held.epoch, "id": key(event)}
        found = connection.execute(query("run_head"), row).fetchone()
        if found is None:
            raise RunFenced(held.run)
        name, _, head, body, is_there = found
        if is_there:
            return "there"
        session, scribe = from_sql(name), self._scribe
        new = Event(event, head_in(head, body), scribe.now(), Actor.AGENT, fact, scribe.author)
        row |= session_row(session) | row_of(new) | {"reader": "", "seen": None, "keeps_redo": True}
        [(verdict,)] = connection.execute(query("append_held"), row).fetchall()
        if verdict == "fenced":
            raise RunFenced(held.run)
        return str(verdict)
