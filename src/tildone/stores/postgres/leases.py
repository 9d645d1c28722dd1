"""The leases of a PostgreSQL store, for workers of many machines. `tildone.stores.leasing` has the operations.

Theory of operation. Each operation is one transaction. It locks, in this order, a name (of a session or of a worker),
leases, the limits that these leases need, the session, and at last the row that tells waiting workers of a change. So
operations wait for each other, but never in a circle. Leases are measured by the clock of the server. An operation
whose connection was lost is repeated, and recognises what the first attempt did (see `tildone.log.fleet.port`).
"""

from __future__ import annotations

from tildone.errors import HeadMoved, RunFenced
from tildone.log.events import Actor, Event
from tildone.log.fleet.cron import parse_cron
from tildone.log.fleet.facts import Asked
from tildone.log.fleet.lease import Ask, Renewed, RunFence
from tildone.log.fleet.settings import FleetSettings, ProviderLimit, checked_limit, checked_settings
from tildone.log.fleet.workers import RunView, WorkerInfo
from tildone.stores.fleet_rows import ask_in, limit_in, settings_in, worker_in
from tildone.stores.lease_upkeep import LeaseUpkeep
from tildone.stores.postgres.fleet_health import ServerFacts, server_findings
from tildone.stores.postgres.lease_transaction import PostgresLeaseTransaction, head_in, lease_of, schedule_columns
from tildone.stores.postgres.listener import ANY_SESSION
from tildone.stores.postgres.names import from_sql, key
from tildone.stores.postgres.queries import query
from tildone.stores.postgres.rows import row_of, session_row
from tildone.stores.schedule_rows import schedule_in
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, TypeVar

    from psycopg import Connection

    from tildone.log.findings import Finding
    from tildone.log.fleet.facts import Kept
    from tildone.log.fleet.lease import Lease
    from tildone.log.fleet.workers import RunSchedule
    from tildone.log.store import Store
    from tildone.stores.lease_transaction import LeaseTransaction
    from tildone.stores.postgres.database import Database
    from tildone.stores.postgres.listener import Listener
    from tildone.stores.scribe import Scribe

    T = TypeVar("T")


class PostgresLeases(LeaseUpkeep):
    """The leases, workers, schedules, settings and limits of a PostgreSQL store. See `RunLeases`."""

    def __init__(self, store: Store, database: Database, listener: Listener, scribe: Scribe) -> None:
        self._store = store
        self._database = database
        self._listener = listener
        self._scribe = scribe

    def renew(self, held: Sequence[RunFence]) -> list[Renewed]:
        """Renew leases, and return those that are still held."""
        if not held:
            return []
        # All renewals lock the rows in the same order.
        fences = sorted(held, key=lambda fence: (fence.run, fence.hand))
        row = {
            "runs": [fence.run for fence in fences],
            "hands": [fence.hand for fence in fences],
            "epochs": [fence.epoch for fence in fences],
            "lease": self.settings().lease,
        }
        rows = self._database.rows_if_any("renew_leases", **row)
        return [Renewed(RunFence(run, hand, epoch), ask_in(ask)) for run, hand, epoch, ask in rows]

    def look(self, run: str | None = None) -> list[RunView]:
        """Return all leases, or those of a run, with their sessions and workers."""
        workers = {worker.id: worker for worker in self.workers()}
        sessions = {session.name: session for session in self._store.sessions()} if run is None else {}
        views = []
        rows = self._database.rows_if_any("all_leases", run=run)
        clock = rows[0][-1] if rows else 0
        for lease in self._scribe.good(lease_of(row[:-1]) for row in rows):
            session = sessions.get(lease.session) if run is None else self._store.session_info(lease.session)
            remaining = max(0, lease.until - clock) if lease.is_held else 0
            views.append(RunView(lease, session, workers.get(lease.worker), remaining))
        return views

    def sent(self) -> list[Lease]:
        """Return the queued leases that an engine has."""
        return self._scribe.good(map(lease_of, self._database.rows_if_any("sent_leases")))

    def active(self) -> list[Lease]:
        """Return the leases of hands that have not ended."""
        return self._scribe.good(map(lease_of, self._database.rows_if_any("living_leases")))

    def size(self) -> int:
        """Return how many bytes the tables and their indexes take up."""
        return next((int(size) for (size,) in self._database.rows_if_any("store_size")), 0)

    def forget(self, run: str) -> bool:
        """Remove the leases of a run that has ended."""
        return self._write("forget_leases", run=run) > 0

    def revision(self) -> int:
        """Return a number that grows whenever a lease may have become free, or a stop was requested."""
        return next((int(revision) for (revision,) in self._database.rows_if_any("fleet_revision")), 0)

    def wait(self, revision: int, timeout: float) -> bool:
        """Wait until the revision differs from `revision`."""
        return self._listener.wait(ANY_SESSION, lambda: self.revision() != revision, timeout)

    def settings(self) -> FleetSettings:
        """Return the settings of the fleet."""
        return settings_in(self._database.rows_if_any("fleet_settings"), self._scribe)

    def configure(self, settings: FleetSettings) -> None:
        """Set the settings of the fleet."""
        kept = checked_settings(settings)
        names = ("lease", "heartbeat", "margin", "reaper", "renewal", "engine")
        self._write("configure", **{name: getattr(kept, name) for name in names})

    def findings(self) -> list[Finding]:
        """Check what workers need of the store."""
        before = self._scribe.now()
        [row] = self._database.rows_if_any("fleet_server")
        return server_findings(ServerFacts(*row), before, self._scribe.now())

    def limits(self) -> list[ProviderLimit]:
        """Return the limits of providers."""
        return self._scribe.good(map(limit_in, self._database.rows_if_any("limits")))

    def set_limit(self, limit: ProviderLimit) -> None:
        """Set the limits of a provider; without any, it is removed."""
        checked_limit(limit)
        if limit.runs or limit.requests:
            self._write("set_limit", name=limit.provider, runs=limit.runs, requests=limit.requests)
        else:
            self._write("remove_limit", name=limit.provider)

    def beat(self, worker: WorkerInfo) -> Ask:
        """Record a sign of life of a worker, and return what a person asks of it."""
        row = {name: getattr(worker, name) for name in ("id", "host", "pid", "version", "protocol", "slots")}
        [(ask,)] = self._database.rows_if_any("worker_beat", **row, labels=list(worker.labels))
        return ask_in(ask)

    def leave(self, worker: str) -> None:
        """Remove a worker that has ended."""
        self._write("worker_leave", id=worker)

    def workers(self) -> list[WorkerInfo]:
        """Return the workers."""
        return self._scribe.good(map(worker_in, self._database.rows_if_any("workers")))

    def drain(self, worker: str) -> bool:
        """Ask a worker to take nothing more."""
        return self._write("drain", id=worker) > 0

    def set_schedule(self, schedule: RunSchedule) -> None:
        """Add a schedule, or replace the one of its name."""
        parse_cron(schedule.cron)
        self._write("set_schedule", **schedule_columns(schedule))

    def unschedule(self, name: str) -> bool:
        """Remove a schedule."""
        return self._write("unschedule", name=name) > 0

    def schedules(self) -> list[RunSchedule]:
        """Return the schedules."""
        return self._scribe.good(map(schedule_in, self._database.rows_if_any("schedules")))

    def append(self, held: RunFence, fact: Asked | Kept, event: str) -> None:
        """Append a fact under a lease, as the event of that id."""
        if isinstance(fact, Asked):
            super().append(held, fact, event)
            return
        # The lease stays as it is: one statement checks it and appends.
        while self._database.run(lambda connection, _: self._verdict(connection, held, fact, event)) == "overtaken":
            continue

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

    def _change(self, work: Callable[[LeaseTransaction], T]) -> T:
        has_moved = False

        def change(connection: Connection, _attempts: int) -> T:
            with connection.transaction():
                return work(PostgresLeaseTransaction(connection, self._scribe, locks_heads=has_moved))

        while True:
            try:
                return self._database.run(change)
            except HeadMoved:
                # Another writer has appended meanwhile, or has created the session. It is locked the next time.
                has_moved = True

    def _run_sessions(self) -> list[str]:
        return [from_sql(session) for (session,) in self._database.rows_if_any("run_sessions")]

    def _events(self, session: str) -> Iterator[Event]:
        return self._store.events(session)

    def _write(self, statement: str, /, **row: Any) -> int:
        """Run a statement that changes rows, tell those who wait, and return how many rows it changed."""

        def write(connection: Connection, _attempts: int) -> int:
            with connection.transaction():
                changed = connection.execute(query(statement), row).rowcount
                connection.execute(query("announce"))
            return changed

        return self._database.run(write)
