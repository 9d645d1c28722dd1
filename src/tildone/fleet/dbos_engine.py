"""DBOS as the engine of a fleet on PostgreSQL: an attempt at a run is a workflow that is never resumed.

Theory of operation. The leases are the truth. A worker takes those that it can run from the table, as `TableEngine`
does, begins the run, and starts a workflow of DBOS for it, which waits for the end of the run and returns a code. So
DBOS keeps a record of each attempt: on which worker, from when to when, and how it ended. Nothing is queued in DBOS,
and nothing of what it has stored begins or holds up a run:

- A workflow has a name of its own, `run.hand.attempt`. One that is not started by the worker that has just taken the
  lease finds no run to wait for, and ends: a copy, one of another version, one that an operator has resumed.
- A workflow that cannot be stored is missing in the record. The run goes on.
- The workflows of a worker that is gone are cancelled when its leases are lost. DBOS recovers nothing: each process is
  an executor of its own.

So the tables of DBOS may be emptied at any time. They are in a schema of their own and contain no secrets: of an
attempt, the name of its run, two numbers, and a code of how it ended. This is the only module that imports DBOS, which
takes half a second. It logs to nowhere: what fails is reported by those who call it, as `StoreError`.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

import psycopg
import sqlalchemy
from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer, SetWorkflowID
from dbos import error as dbos_error
from dbos._migration import get_migration_versions
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from tildone.base import StoreError
from tildone.fleet.engine import RETRY_SECONDS, Begin, FreeOwners, TableEngine
from tildone.plan.runs import PROTOCOL, Claimer, Lease
from tildone.stores import TIMEOUT_SECONDS
from tildone.stores.leasing import RunLeases
from tildone.stores.postgres.address import address_of
from tildone.stores.postgres.connections import connect_error, connection_refused, store_error

SCHEMA = "tildone_dbos"
APPLICATION = "tildone"
VERSION = str(PROTOCOL)
"""The version of the application, for DBOS."""

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
        # one that has failed empties the pool, and DBOS repeats what failed.
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

    def forget(self, leases: Iterable[Lease]) -> None:
        names = [attempt_name(each.run, each.hand, number) for each in leases for number in range(1, each.attempt + 1)]
        for start in range(0, len(names), MAX_DELETED):
            with self.store_errors():
                self.client.delete_workflows(names[start : start + MAX_DELETED])

    def tidy(self, counting: Collection[str]) -> None:
        """Remove all attempts but those that count."""
        kept, found = 0, MAX_DELETED
        while found == MAX_DELETED:
            with self.store_errors():
                rows = self.client.list_workflows(limit=MAX_DELETED, offset=kept, load_input=False, load_output=False)
                old = [row.workflow_id for row in rows if row.workflow_id not in counting]
                self.client.delete_workflows(old)
            found = len(rows)
            kept += found - len(old)

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

END_SECONDS, END_PAUSE_SECONDS = 3.0, 0.05
"""How long the engine waits, at its end, for the outcomes of its workflows to be recorded."""

ENDED, NOT_OURS, LEFT = "ended", "not ours", "left"
"""What a workflow returns. A run that is left goes on, or its lease lapses."""


class DbosEngine(TableEngine):
    """DBOS in the database at a URL, for one worker. A process can have one at a time."""

    def __init__(self, url: str, leases: RunLeases, who: Claimer) -> None:
        """Start DBOS. Nothing begins before `on_begin`.

        Raises StoreError if the database cannot be reached, or has not the tables of this version of DBOS.
        """
        super().__init__(leases, who)
        self._ended = Event()
        self._begun: dict[str, Thread] = {}
        self.tables = EngineTables(url)
        if not self.tables.are_current():
            self.tables.close()
            raise StoreError(f"{self.tables.where} is not prepared for workers: tildone fleet up")

        def attempt(run: str, hand: int, number: int) -> str:
            return self._attempt(attempt_name(run, hand, number))

        with self.tables.store_errors():
            DBOS(config=self.tables.config(who.worker))
            self._workflow = DBOS.workflow(name=WORKFLOW)(attempt)
            DBOS.listen_queues([])
            DBOS.launch()

    def upkeep(self, lost: Sequence[Lease], *, tidies: bool) -> None:
        """Cancel the attempts before those of lost leases. A workflow that waits for a lost run ends."""
        names = [attempt_name(lease.run, lease.hand, lease.attempt - 1) for lease in lost]
        if names:
            with self.tables.store_errors():
                self.tables.client.cancel_workflows(names)
        if tidies:
            self.tables.tidy({_name_of(view.lease) for view in self._leases.look() if view.lease.state.is_active})

    def on_begin(self, free: FreeOwners, begin: Begin) -> None:
        super().on_begin(free, lambda lease: self._recorded(lease, begin(lease)))

    def end(self) -> None:
        """Stop DBOS, once the outcomes of its workflows are recorded."""
        self.close()
        self._ended.set()
        until = monotonic() + END_SECONDS
        look = partial(
            self.tables.client.list_workflows, status="PENDING", limit=1, load_input=False, load_output=False
        )
        with suppress(StoreError), self.tables.store_errors():
            while monotonic() < until and look(executor_id=self._who.worker):
                sleep(END_PAUSE_SECONDS)
        DBOS.destroy(destroy_registry=True)
        self.tables.close()

    def _recorded(self, lease: Lease, thread: Thread) -> Thread:
        """Start the workflow of a run that has begun."""
        name = _name_of(lease)
        self._begun[name] = thread
        # If it fails, the worker claims again after a pause.
        with self.tables.store_errors(), SetWorkflowID(name):
            DBOS.start_workflow(self._workflow, lease.run, lease.hand, lease.attempt)
        return thread

    def _attempt(self, name: str) -> str:
        """Be the body of a workflow: wait for the end of its run."""
        thread = self._begun.pop(name, None)
        if thread is None:
            return NOT_OURS
        while thread.is_alive():
            if self._ended.is_set():
                return LEFT
            thread.join(RETRY_SECONDS)
        return ENDED
