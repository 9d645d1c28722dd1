"""The tables of leases in a SQLite store, for workers of one machine. See `tildone.stores.leasing`.

Theory of operation. Each operation is one transaction that has the write lock from its beginning, so operations never
overlap. Leases are measured by the clock that counts since the machine was started. A lease of another start, or of a
process that has ended, has lapsed at once; others lapse when their time has passed.
"""

from __future__ import annotations

import os

from tildone.log.findings import Finding, Severity
from tildone.log.json_scanner import dump
from tildone.stores.scribe import Scribe
from tildone.stores.sqlite.boot import is_alive, moment
from tildone.stores.sqlite.fleet_queries import query
from tildone.stores.sqlite.lease_transaction import Machine, SqliteLeaseTransaction
from tildone.stores.sqlite.schema import from_sql, to_sql
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    import apsw

    from tildone.log.fleet.facts import Kept
    from tildone.log.fleet.lease import RunFence
    from tildone.log.store import Store
    from tildone.stores.lease_transaction import LeaseTransaction
    from tildone.stores.sqlite.file import SqliteFile

    T = TypeVar("T")


def this_machine() -> Machine:
    """Return the machine that this process runs on."""
    return Machine(
        moment, os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", ""), is_alive
    )


class SqliteLeaseTables:
    """The leases, workers, schedules and limits in a file. The calls are documented by `LeaseTables`."""

    def __init__(self, store: Store, file: SqliteFile, scribe: Scribe, machine: Machine | None = None) -> None:
        self._store = store
        self._file = file
        self._scribe = scribe
        self._machine = machine or this_machine()

    def change(self, work: Callable[[LeaseTransaction], T]) -> T:
        def transaction(connection: apsw.Connection) -> T:
            return work(
                SqliteLeaseTransaction(connection, self._file.path, self._machine, self._store.history, self._scribe)
            )

        return self._file.write(transaction)

    def rows(self, statement: str, /, **row: Any) -> list[Any]:
        with self._file as connection:
            return connection.execute(query(statement), row).fetchall()

    def write(self, statement: str, /, **row: Any) -> int:
        def change(connection: apsw.Connection) -> int:
            connection.execute(query(statement), row)
            changed = connection.changes()
            connection.execute(query("announce"))
            return changed

        return self._file.write(change)

    def timed_rows(self, statement: str, /, **row: Any) -> list[tuple[Any, int]]:
        clock = self._machine.moment().clock
        return [(columns, clock) for columns in self.rows(statement, **row)]

    def rows_of_sessions(self, sessions: Sequence[str]) -> list[tuple[Any, int]]:
        return [row for each in sessions for row in self.timed_rows("leases_of_session", session=to_sql(each))]

    def renew(self, held: Sequence[RunFence], lease: int) -> list[Any]:
        at = self._machine.moment()
        fences = dump([[fence.run, fence.hand, fence.epoch] for fence in held])
        row = {"until": at.clock + lease, "boot": at.boot, "held": fences}
        return self._file.write(lambda connection: connection.execute(query("renew_leases"), row).fetchall())

    def beat(self, row: dict[str, Any], labels: Sequence[str]) -> str:
        seen = row | {"seen": self.now(), "labels": dump(list(labels))}
        with self._file as connection:
            self._file.record_stamp_once()
            return str(connection.execute(query("worker_beat"), seen).get)

    def append(self, _held: RunFence, _fact: Kept, _event: str) -> bool:
        return False

    def session(self, stored: Any) -> str:
        return from_sql(stored)

    def now(self) -> int:
        return self._machine.moment().now

    def size(self) -> int:
        paths = (f"{self._file.path}{suffix}" for suffix in ("", "-wal", "-shm"))
        return sum(os.path.getsize(path) for path in paths if os.path.exists(path))

    def wait(self, is_reached: Callable[[], bool], timeout: float) -> bool:
        # Late, because few callers wait.
        from tildone.stores.polling import wait_until  # noqa: PLC0415  see above

        return wait_until(self._file.changed, is_reached, timeout)

    def findings(self) -> list[Finding]:
        return [Finding(Severity.OK, f"the runs are in {self._file.path}, for workers of this machine")]
