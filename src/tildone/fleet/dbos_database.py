"""The tables of DBOS in the database of a fleet: how they are reached, created, checked and emptied.

They are in a schema of their own and contain no secrets: of an attempt, the name of its run, two numbers, and a code of
how it ended. This module and `dbos_engine` are the only ones that import DBOS, which takes half a second. It logs to
nowhere: what fails is reported by those who call it.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager

import psycopg
import sqlalchemy
from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer
from dbos import error as dbos_error
from dbos._migration import get_migration_versions  # no public function looks without changing anything
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from tildone.errors import StoreError
from tildone.log.fleet.lease import PROTOCOL
from tildone.stores.base import TIMEOUT_SECONDS
from tildone.stores.postgres.address import address_of
from tildone.stores.postgres.failures import connect_error, connection_refused, store_error
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Any

    from tildone.log.fleet.lease import Lease

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
        """Return the settings of DBOS in this process. `executor` is a name that no other process has or had."""
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
        """Return whether the tables are as this version of DBOS needs them.

        Raises:
            StoreError: the database cannot be read.
        """
        with self.store_errors():
            current, latest = get_migration_versions(self.pool, SCHEMA, use_listen_notify=False)
        return current >= latest

    def migrate(self) -> None:
        """Create the tables, or bring them up to date. Several processes may do so at once.

        Raises:
            StoreError: the database cannot be changed.
        """
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

    def enqueue(self, workflow: str, queue: str, leases: Iterable[Lease]) -> None:
        """Enqueue the attempts of leases, all in one transaction. Those that are there already stay as they are.

        Raises:
            StoreError: the database cannot be changed.
        """
        with self.store_errors(), self.pool.begin() as connection:
            for lease in leases:
                self.client.enqueue_in_transaction(
                    connection,
                    {
                        "workflow_name": workflow,
                        "queue_name": queue,
                        "workflow_id": attempt_name(lease.run, lease.hand, lease.attempt),
                        "app_version": VERSION,
                    },
                    lease.run,
                    lease.hand,
                    lease.attempt,
                )

    def forget(self, leases: Iterable[Lease]) -> None:
        """Remove all attempts of leases.

        Raises:
            StoreError: the database cannot be changed.
        """
        names = [attempt_name(each.run, each.hand, number) for each in leases for number in range(1, each.attempt + 1)]
        for start in range(0, len(names), MAX_DELETED):
            with self.store_errors():
                self.client.delete_workflows(names[start : start + MAX_DELETED])

    def tidy(self, counting: Collection[str], workers: Collection[str]) -> None:
        """Remove all attempts but those that count, and all queues but those of these workers.

        Raises:
            StoreError: the database cannot be changed.
        """
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
        """Close all connections."""
        self.client.destroy()
        self.pool.dispose()

    @contextmanager
    def store_errors(self) -> Iterator[None]:
        """Raise what fails as `StoreError`."""
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
