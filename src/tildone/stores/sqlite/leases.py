"""The leases of a SQLite store, for workers of one machine. `tildone.stores.leasing` has the operations.

Theory of operation. Each operation is one transaction that has the write lock from its beginning, so operations never
overlap. Leases are measured by the clock that counts since the machine was started. A lease of another start, or of a
process that has ended, has lapsed at once; others lapse when their time has passed.
"""

from __future__ import annotations

import os

from tildone.log.findings import Finding, Severity
from tildone.log.fleet.cron import parse_cron
from tildone.log.fleet.lease import Ask, Renewed, RunFence
from tildone.log.fleet.settings import FleetSettings, ProviderLimit, checked_limit, checked_settings
from tildone.log.fleet.workers import RunView, WorkerInfo
from tildone.log.json_scanner import dump
from tildone.stores.fleet_rows import ask_in, limit_in, worker_in
from tildone.stores.lease_upkeep import LeaseUpkeep
from tildone.stores.schedule_rows import schedule_in, schedule_row
from tildone.stores.scribe import Scribe
from tildone.stores.sqlite import fleet_queries
from tildone.stores.sqlite.boot import is_alive, moment
from tildone.stores.sqlite.lease_transaction import Machine, SqliteLeaseTransaction, rows_of_leases, settings_of
from tildone.stores.sqlite.schema import Transaction, from_sql
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, TypeVar

    from tildone.log.events import Event
    from tildone.log.fleet.lease import Lease
    from tildone.log.fleet.workers import RunSchedule
    from tildone.log.store import Store
    from tildone.stores.lease_transaction import LeaseTransaction
    from tildone.stores.sqlite.file import SqliteFile

    T = TypeVar("T")


def this_machine() -> Machine:
    """Return the machine that this process runs on."""
    return Machine(
        moment, os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", ""), is_alive
    )


class SqliteLeases(LeaseUpkeep):
    """The leases, workers, schedules, settings and limits of a SQLite store. See `RunLeases`."""

    def __init__(self, store: Store, file: SqliteFile, scribe: Scribe, machine: Machine | None = None) -> None:
        self._store = store
        self._file = file
        self._scribe = scribe
        self._machine = machine or this_machine()

    def renew(self, held: Sequence[RunFence]) -> list[Renewed]:
        """Renew leases, and return those that are still held."""
        if not held:
            return []

        def work(tables: SqliteLeaseTransaction, execute: Callable[..., Any]) -> list[Renewed]:
            row = {"until": tables.at.clock + tables.settings().lease, "boot": tables.at.boot}
            fences = dump([[fence.run, fence.hand, fence.epoch] for fence in held])
            rows = execute(fleet_queries.RENEW_LEASES, row | {"held": fences}).fetchall()
            return [Renewed(RunFence(run, hand, epoch), ask_in(ask)) for run, hand, epoch, ask in rows]

        with self._file as connection:
            self._file.record_stamp_once()
            with Transaction(connection):
                return work(self._transaction(connection), connection.execute)

    def look(self, run: str | None = None) -> list[RunView]:
        """Return all leases, or those of a run, with their sessions and workers."""
        workers = {worker.id: worker for worker in self.workers()}
        leases = self._leases(fleet_queries.ALL_LEASES, {"run": run})
        clock = self._machine.moment().clock
        return [
            RunView(
                lease,
                self._store.session_info(lease.session),
                workers.get(lease.worker),
                max(0, lease.until - clock) if lease.is_held else 0,
            )
            for lease in leases
        ]

    def sent(self) -> list[Lease]:
        """Return the queued leases that an engine has."""
        return self._leases(fleet_queries.SENT_LEASES)

    def active(self) -> list[Lease]:
        """Return the leases of hands that have not ended."""
        return self._leases(fleet_queries.ACTIVE_LEASES)

    def size(self) -> int:
        """Return how many bytes the file and its log take up."""
        paths = (f"{self._file.path}{suffix}" for suffix in ("", "-wal", "-shm"))
        return sum(os.path.getsize(path) for path in paths if os.path.exists(path))

    def forget(self, run: str) -> bool:
        """Remove the leases of a run that has ended."""
        return self._write(fleet_queries.FORGET_LEASES, {"run": run}) > 0

    def revision(self) -> int:
        """Return a number that grows whenever a lease may have become free, or a stop was requested."""
        with self._file as connection:
            return int(connection.execute(fleet_queries.FLEET_REVISION).get)

    def wait(self, revision: int, timeout: float) -> bool:
        """Wait until the revision differs from `revision`."""
        # Late, because few callers wait.
        from tildone.stores.polling import wait_until  # noqa: PLC0415  see above

        return wait_until(self._file.changed, lambda: self.revision() != revision, timeout)

    def settings(self) -> FleetSettings:
        """Return the settings of the fleet."""
        with self._file as connection:
            return settings_of(connection, self._scribe)

    def configure(self, settings: FleetSettings) -> None:
        """Set the settings of the fleet."""
        kept = checked_settings(settings)
        row = kept.lease, kept.heartbeat, kept.margin, kept.reaper, kept.renewal, kept.engine
        self._write(fleet_queries.SET_FLEET_SETTINGS, row)

    def findings(self) -> list[Finding]:
        """Check what workers need of the store."""
        return [Finding(Severity.OK, f"the runs are in {self._file.path}, for workers of this machine")]

    def limits(self) -> list[ProviderLimit]:
        """Return the limits of providers."""
        return self._scribe.good(map(limit_in, self._read(fleet_queries.LIMITS)))

    def set_limit(self, limit: ProviderLimit) -> None:
        """Set the limits of a provider; without any, it is removed."""
        checked_limit(limit)
        if limit.runs or limit.requests:
            self._write(fleet_queries.SET_LIMIT, (limit.provider, limit.runs, limit.requests))
        else:
            self._write(fleet_queries.REMOVE_LIMIT, (limit.provider,))

    def beat(self, worker: WorkerInfo) -> Ask:
        """Record a sign of life of a worker, and return what a person asks of it."""
        row = {name: getattr(worker, name) for name in ("id", "host", "pid", "version", "protocol", "slots")}
        row |= {"seen": self._machine.moment().now, "labels": dump(list(worker.labels))}
        with self._file as connection:
            self._file.record_stamp_once()
            return ask_in(connection.execute(fleet_queries.BEAT, row).get)

    def leave(self, worker: str) -> None:
        """Remove a worker that has ended."""
        self._write(fleet_queries.LEAVE, (worker,))

    def workers(self) -> list[WorkerInfo]:
        """Return the workers."""
        return self._scribe.good(map(worker_in, self._read(fleet_queries.WORKERS)))

    def drain(self, worker: str) -> bool:
        """Ask a worker to take nothing more."""
        return self._write(fleet_queries.DRAIN, (worker,)) > 0

    def set_schedule(self, schedule: RunSchedule) -> None:
        """Add a schedule, or replace the one of its name."""
        parse_cron(schedule.cron)
        self._write(fleet_queries.SET_SCHEDULE, schedule_row(schedule))

    def unschedule(self, name: str) -> bool:
        """Remove a schedule."""
        return self._write(fleet_queries.UNSCHEDULE, (name,)) > 0

    def schedules(self) -> list[RunSchedule]:
        """Return the schedules."""
        return self._scribe.good(map(schedule_in, self._read(fleet_queries.SCHEDULES)))

    def _change(self, work: Callable[[LeaseTransaction], T]) -> T:
        with self._file as connection:
            self._file.record_stamp_once()
            with Transaction(connection):
                result = work(self._transaction(connection))
            self._file.notify()
        return result

    def _transaction(self, connection: Any) -> SqliteLeaseTransaction:
        return SqliteLeaseTransaction(connection, self._file.path, self._machine, self._store.history, self._scribe)

    def _run_sessions(self) -> list[str]:
        return [from_sql(session) for (session,) in self._read(fleet_queries.RUN_SESSIONS)]

    def _events(self, session: str) -> Iterator[Event]:
        return self._store.events(session)

    def _leases(self, statement: str, row: Any = ()) -> list[Lease]:
        with self._file as connection:
            return self._scribe.good(rows_of_leases(connection, statement, row))

    def _read(self, statement: str) -> list[Any]:
        with self._file as connection:
            return connection.execute(statement).fetchall()

    def _write(self, statement: str, row: Any) -> int:
        """Run a statement that changes rows, tell those who wait, and return how many rows it changed."""
        with self._file as connection:
            self._file.record_stamp_once()
            with Transaction(connection):
                connection.execute(statement, row)
                changed = connection.changes()
                connection.execute(fleet_queries.ANNOUNCE)
            self._file.notify()
        return changed
