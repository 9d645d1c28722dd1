"""DBOS as the engine of a fleet on PostgreSQL: an attempt at a run is a workflow that is never resumed.

Theory of operation. The leases stay the truth. A worker with a free slot marks the first lease that it can run as sent
(`RunLeases.dispatch`: labels, limits and delays are looked at there), and enqueues its attempt in a queue that only
this worker listens to. DBOS starts the workflow there, whose body takes the lease, starts the run, waits for its end
and returns a code. It has no steps, and it never fails, so nothing of a run is stored in the tables of DBOS.

- An attempt has a name of its own, `run.hand.attempt`: enqueued twice, it begins once.
- A body that comes late, twice or after the attempt was given up does not get the lease.
- A body that does not get it although the attempt counts (a limit was reached, no slot is free) gives the attempt up:
  the lease is sent again, by any worker, under the next number (`RunLeases.resend`).
- An attempt that was sent and has not begun for the time of a lease is lost, whatever the tables of DBOS say: its
  worker has ended or is stopped, or its row is gone. It is `missing`, and sent again.

So the tables of DBOS may be emptied at any time. Each process is an executor of its own: DBOS recovers nothing. The
tables are in a schema of their own and contain no secrets: of an attempt, the name of its run, two numbers, and a code
of how it ended. This is the only module that imports DBOS, which takes half a second. It logs to nowhere: what fails is
reported by those who call it, as `StoreError`.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import Any

import psycopg
import sqlalchemy
from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer
from dbos import error as dbos_error
from dbos._migration import get_migration_versions
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from tildone.base import StoreError
from tildone.fleet.engine import LOOK_SECONDS, RETRY_SECONDS, Begin, EssentialThread, FreeOwners
from tildone.fleet.process_tree import boot_seconds
from tildone.plan.runs import PROTOCOL, Claimer, Lease
from tildone.stores import TIMEOUT_SECONDS
from tildone.stores.leasing import RunLeases
from tildone.stores.postgres.address import address_of
from tildone.stores.postgres.connections import connect_error, connection_refused, store_error

SCHEMA = "tildone_dbos"
APPLICATION = "tildone"
VERSION = str(PROTOCOL)
"""The version of the application, for DBOS. An attempt is only begun by workers of the version that sent it."""

POOL_SIZE = 4
MAX_DELETED = 1_000
"""How many attempts are removed at once."""

IDLE_SECONDS = 60
"""The server ends a connection of DBOS that does nothing in the middle of a transaction for so long."""

MIGRATION_LOCK = 1953260653
"""The advisory lock under which the tables are created: "tldm"."""

for _name in ("dbos", "sqlalchemy"):
    logging.getLogger(_name).addHandler(logging.NullHandler())
logging.getLogger("dbos").propagate = False


class EngineTables:
    """The tables of DBOS in the database at a URL."""

    def __init__(self, url: str) -> None:
        address = address_of(url, TIMEOUT_SECONDS)
        self._conninfo, self.where = address.conninfo, address.where
        # Connections are not tried before each use, which would double the transactions of an idle worker: the first
        # one that has failed empties the pool, and DBOS and those who dispatch repeat what failed.
        self.pool = sqlalchemy.create_engine(
            "postgresql+psycopg://", creator=self._connect, pool_size=POOL_SIZE, max_overflow=0
        )
        self.client = DBOSClient(
            system_database_engine=self.pool,
            dbos_system_schema=SCHEMA,
            serializer=DBOSPortableJSONSerializer(),
            application_name=APPLICATION,
            lazy=True,
            retry_connection_errors=False,
        )

    def config(self, executor: str, *, migrate: bool = False) -> DBOSConfig:
        return {
            "name": APPLICATION,
            "system_database_engine": self.pool,
            "dbos_system_schema": SCHEMA,
            "executor_id": executor,
            "application_version": VERSION,
            "serializer": DBOSPortableJSONSerializer(),
            "run_migrations": migrate,
            # No workflow waits for a message, and a connection that listens is woken by every change of a plan.
            "use_listen_notify": False,
            "log_level": "CRITICAL",
        }

    def are_current(self) -> bool:
        """Return whether the tables are as this version of DBOS needs them."""
        with self.store_errors():
            current, latest = get_migration_versions(self.pool, SCHEMA, use_listen_notify=False)
        return current >= latest

    def migrate(self) -> None:
        """Create the tables, or bring them up to date. Several processes may do so at once."""
        with self.store_errors(), psycopg.connect(self._conninfo, autocommit=True) as connection:
            connection.execute("SELECT pg_advisory_lock(%s)", (MIGRATION_LOCK,))
            if self.are_current():
                return
            DBOS(config=self.config("migration", migrate=True))
            DBOS.listen_queues([])
            try:
                DBOS.launch()
            finally:
                DBOS.destroy(destroy_registry=True)

    def enqueue(self, queue: str, leases: Iterable[Lease]) -> None:
        """Enqueue the attempts of leases, all in one transaction. Those that are there already stay as they are."""
        with self.store_errors(), self.pool.begin() as connection:
            for lease in leases:
                self.client.enqueue_in_transaction(
                    connection,
                    {
                        "workflow_name": WORKFLOW,
                        "queue_name": queue,
                        "workflow_id": _name_of(lease),
                        "app_version": VERSION,
                    },
                    lease.run,
                    lease.hand,
                    lease.attempt,
                )

    def forget(self, leases: Iterable[Lease]) -> None:
        names = [attempt_name(each.run, each.hand, number) for each in leases for number in range(1, each.attempt + 1)]
        for start in range(0, len(names), MAX_DELETED):
            with self.store_errors():
                self.client.delete_workflows(names[start : start + MAX_DELETED])

    def tidy(self, counting: Collection[str], workers: Collection[str]) -> None:
        """Remove all attempts but those that count, and all queues but those of these workers."""
        kept, found = 0, MAX_DELETED
        while found == MAX_DELETED:
            with self.store_errors():
                rows = self.client.list_workflows(limit=MAX_DELETED, offset=kept, load_input=False, load_output=False)
                old = [row.workflow_id for row in rows if row.workflow_id not in counting]
                self.client.delete_workflows(old)
            found = len(rows)
            kept += found - len(old)
        with self.store_errors():
            for queue in self.client.list_queues():
                if queue.name not in workers:
                    self.client.delete_queue(queue.name)

    def close(self) -> None:
        self.client.destroy()
        self.pool.dispose()

    @contextmanager
    def store_errors(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._store_error(error.orig or error) from error
        except (psycopg.Error, SQLAlchemyError, dbos_error.DBOSException, AssertionError) as error:
            # DBOS asserts that it finds what it has written; its tables may be emptied in between.
            raise self._store_error(error) from error

    def _store_error(self, error: BaseException) -> StoreError:
        if not isinstance(error, psycopg.Error):
            return StoreError(f"{self.where}: {str(error).partition(chr(10))[0]}")
        return connect_error(error, self.where) if connection_refused(error) else store_error(error, self.where)

    def _connect(self) -> Any:
        connection = psycopg.connect(self._conninfo, autocommit=True)
        connection.execute(f"SET idle_in_transaction_session_timeout = {IDLE_SECONDS * 1000}")
        connection.autocommit = False
        return connection


def attempt_name(run: str, hand: int, attempt: int) -> str:
    """Return the name of an attempt. It is never used again."""
    return f"{run}.{hand}.{attempt}"


def _name_of(lease: Lease) -> str:
    return attempt_name(lease.run, lease.hand, lease.attempt)


WORKFLOW = "attempt"
POLL_SECONDS = 0.2
"""How often DBOS looks into the queue of the worker."""

DISPATCH_SECONDS = POLL_SECONDS / 2
"""How often attempts are sent at most. Slots that become free in between are filled together, in one transaction. DBOS
does not look into the queue more often anyway."""

END_SECONDS, END_PAUSE_SECONDS = 3.0, 0.05
"""How long the engine waits, at its end, for the outcomes of its workflows to be recorded."""

ENDED, NOT_OURS, LEFT, FAILED = "ended", "not ours", "left", "failed"
"""What a workflow returns. A run that is left goes on, or its lease lapses."""


class DbosEngine:
    """DBOS in the database at a URL, for one worker. A process can have one at a time."""

    def __init__(self, url: str, leases: RunLeases, who: Claimer, clock: Callable[[], float] = boot_seconds) -> None:
        """Start DBOS. Nothing begins before `on_begin`.

        Raises StoreError if the database cannot be reached, or has not the tables of this version of DBOS.
        """
        self._leases, self._who, self._clock = leases, who, clock
        self._free: FreeOwners = lambda _seconds: ()
        self._begin: Begin | None = None
        self._closed, self._ended, self._arrived = Event(), Event(), Event()
        self._taking, self._lock = Lock(), Lock()
        self._sent: dict[str, tuple[Lease, float]] = {}
        self._first_seen: dict[str, float] = {}
        self._lease_seconds = leases.settings().lease / 1000
        self._tables = EngineTables(url)
        if not self._tables.are_current():
            self._tables.close()
            raise StoreError(f"{self._tables.where} is not prepared for workers: tildone fleet up")

        def attempt(run: str, hand: int, number: int) -> str:
            return self._attempt(run, hand, number)

        with self._tables.store_errors():
            DBOS(config=self._tables.config(who.worker))
            DBOS.workflow(name=WORKFLOW)(attempt)
            DBOS.listen_queues([who.worker])
            DBOS.launch()
        self._ensure_queue()

    def upkeep(self, lost: Sequence[Lease], *, tidies: bool) -> None:
        """Cancel the attempts of lost leases, and send again those that nobody has begun."""
        self._withdraw(lost)
        again = (self._leases.resend(lease.run, lease.hand, lease.attempt) for lease in self._missing())
        self._withdraw([lease for lease in again if lease is not None])
        if tidies:
            counting = {_name_of(view.lease) for view in self._leases.look() if view.lease.state.is_active}
            self._tables.tidy(counting, {worker.id for worker in self._leases.workers()} | {self._who.worker})

    def _withdraw(self, leases: Sequence[Lease]) -> None:
        """Cancel the attempts before those of leases. A workflow that waits for a lost run ends."""
        names = [attempt_name(lease.run, lease.hand, lease.attempt - 1) for lease in leases]
        if names:
            with self._tables.store_errors():
                self._tables.client.cancel_workflows(names)

    def _missing(self) -> list[Lease]:
        """Return the leases that have been sent for the time of a lease, as far as this process has seen."""
        self._lease_seconds = self._leases.settings().lease / 1000
        self._ensure_queue()
        now, sent = self._clock(), {_name_of(lease): lease for lease in self._leases.sent()}
        self._first_seen = {name: self._first_seen.get(name, now) for name in sent}
        return [lease for name, lease in sent.items() if now - self._first_seen[name] >= self._lease_seconds]

    def on_begin(self, free: FreeOwners, begin: Begin) -> None:
        self._free, self._begin = free, begin
        EssentialThread("dispatches", self._dispatch_all).start()

    def close(self) -> None:
        self._closed.set()
        self._arrived.set()
        with self._lock:
            sent, self._sent = [lease for lease, _ in self._sent.values()], {}
        for lease in sent:
            try:
                self._leases.resend(lease.run, lease.hand, lease.attempt)
            except StoreError:
                # Another worker finds it when the time of a lease has passed.
                return

    def end(self) -> None:
        """Stop DBOS, once the outcomes of its workflows are recorded."""
        self.close()
        self._ended.set()
        until = monotonic() + END_SECONDS
        client, worker = self._tables.client, self._who.worker
        look = partial(client.list_workflows, status="PENDING", limit=1, load_input=False, load_output=False)
        with suppress(StoreError), self._tables.store_errors():
            while monotonic() < until and look(executor_id=worker):
                sleep(END_PAUSE_SECONDS)
            client.delete_queue(worker)
        DBOS.destroy(destroy_registry=True)
        self._tables.close()

    def _ensure_queue(self) -> None:
        """Register the queue of this worker, also after somebody has emptied the tables."""
        with self._tables.store_errors():
            if not self._closed.is_set() and self._tables.client.retrieve_queue(self._who.worker) is None:
                self._tables.client.register_queue(self._who.worker, polling_interval_sec=POLL_SECONDS)

    def _dispatch_all(self) -> None:
        while not self._closed.is_set():
            try:
                self._dispatch()
            except StoreError:
                self._closed.wait(RETRY_SECONDS)

    def _dispatch(self) -> None:
        """Send as many attempts as slots are free, or wait for something to change."""
        self._arrived.clear()
        slots = len(self._free(LOOK_SECONDS)) - self._on_their_way()
        if slots <= 0:
            self._arrived.wait(LOOK_SECONDS)
            return
        revision = self._leases.revision()
        chosen = [] if self._closed.is_set() else self._leases.dispatch(self._who, slots)
        for lease in chosen:
            with self._lock:
                self._sent[_name_of(lease)] = lease, self._clock()
        self._enqueue(chosen)
        self._closed.wait(DISPATCH_SECONDS)
        if len(chosen) < slots:
            self._leases.wait(revision, LOOK_SECONDS)

    def _on_their_way(self) -> int:
        """Return how many attempts were sent to this worker and have not arrived, without those that are lost."""
        with self._lock:
            since = self._clock() - self._lease_seconds
            self._sent = {name: (lease, at) for name, (lease, at) in self._sent.items() if at > since}
            return len(self._sent)

    def _enqueue(self, leases: Sequence[Lease]) -> None:
        """Enqueue attempts, however often that takes. Those that are there already stay as they are."""
        while leases and not self._closed.is_set():
            try:
                self._tables.enqueue(self._who.worker, leases)
                return
            except StoreError:
                self._closed.wait(RETRY_SECONDS)

    def _attempt(self, run: str, hand: int, number: int) -> str:
        """Be the body of a workflow: take the lease, begin the run, and wait for its end."""
        try:
            thread = self._taken(run, hand, number)
            self._has_arrived(attempt_name(run, hand, number))
            if thread is None:
                self._leases.resend(run, hand, number)
                return NOT_OURS
            while thread.is_alive():
                if self._ended.is_set():
                    return LEFT
                thread.join(RETRY_SECONDS)
            return ENDED
        except Exception:  # noqa: BLE001  DBOS would store its text, and the lease lapses or is sent again
            self._has_arrived(attempt_name(run, hand, number))
            return FAILED

    def _taken(self, run: str, hand: int, number: int) -> Thread | None:
        """Take the lease of an attempt and begin its run; None if it is not ours."""
        while not self._closed.is_set():
            # One after the other: each takes the owner of a slot that the one before has not filled.
            with self._taking:
                owners = self._free(0)
                if not owners or self._begin is None:
                    return None
                try:
                    lease, failed = self._leases.take(self._who, owners[0], run, hand, number), False
                except StoreError:
                    # The answer may be lost. The same owner is recognised the next time.
                    lease, failed = None, True
                if lease is not None:
                    return self._begin(lease)
            if not failed:
                return None
            self._closed.wait(RETRY_SECONDS)
        return None

    def _has_arrived(self, name: str) -> None:
        with self._lock:
            self._sent.pop(name, None)
        self._arrived.set()
