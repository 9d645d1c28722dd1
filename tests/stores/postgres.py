"""A PostgreSQL server for tests, and databases on it. It ends with the test process, even if that is killed."""

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.stores.postgres_keeper import why_not
from tests.stores.processes import next_line
from tildone.stores.postgres.store import PostgresStore

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = "plans"
OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
LOG_TABLES = ("sessions", "events", "seen", "changes", "presence", "needs", "summaries", "claims")
TABLES = (*LOG_TABLES, "leases", "workers", "schedules", "providers")
EMPTIED = (
    f"SELECT pg_terminate_backend(pid, 5000) {OTHERS}",
    # Without triggers, as TRUNCATE does it, which takes ten times as long for a few rows.
    "SET session_replication_role = replica",
    "; ".join(f"DELETE FROM tildone.{table}" for table in TABLES),  # noqa: S608  our own words
    "UPDATE tildone.fleet SET lease = 60000, heartbeat = 20000, margin = 5000, reaper = 2000, renewal = 5000",
    "UPDATE tildone.fleet SET engine = ''",
)

needs_server = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: the folder of its socket, the folder of its programs, and its keeper process."""

    folder: str
    programs: str
    keeper: "subprocess.Popen[str]"
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def url(self, database: str, user: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def create(self, template: str = "template0", *more: str) -> str:
        """Create a database and return its URL. It stays: for dropping it, the server writes all its files first."""
        name = f"plans{next(self.numbers)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template} {' '.join(more)}")
        return self.url(name)

    @contextmanager
    def database(self, template: str = "template0") -> Iterator[str]:
        """Create a database that is dropped at the end of the block."""
        url = self.create(template)
        try:
            yield url
        finally:
            self.run(f"DROP DATABASE IF EXISTS {database_of(url)} WITH (FORCE)")

    def run(self, *statements: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run statements one after the other, and return the rows of the last one."""
        return execute(self.url(database), *statements)

    def order(self, *words: str) -> None:
        """Send the keeper a command: stop, crash, start, standby, promote."""
        for word in words:
            print(word, file=self.keeper.stdin, flush=True)
            assert next_line(self.keeper) == "done"


def database_of(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]


def execute(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements on a new connection, and return the rows of the last one."""
    with psycopg.connect(url, autocommit=True, client_encoding="utf8") as connection:
        *_, last = (connection.execute(statement.encode()) for statement in statements)
        return last.fetchall() if last.description else []


def truncate(url: str, tables: str) -> None:
    """Empty tables that others use. Those may have locked them in another order: then it is tried again."""
    while True:
        try:
            execute(url, f"TRUNCATE {tables} CASCADE")
            return
        except psycopg.errors.DeadlockDetected:
            continue


@contextmanager
def running_server(*settings: str) -> Iterator[Server]:
    """A dedicated server with settings such as `fsync=off`."""
    command = [sys.executable, "-m", "tests.stores.postgres_keeper", *settings]
    # In a session of its own, so that a Ctrl-C at the tests does not reach the server before they are done with it.
    keeper = subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONWARNINGS": "default"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with keeper:
        try:
            yield Server(next_line(keeper), next_line(keeper), keeper)
        finally:
            assert keeper.stdin is not None
            keeper.stdin.close()
            keeper.wait()


SHARED = ExitStack()
"""Closed at the end of the tests: afterwards, a slow worker of xdist is killed, and its server would stay."""


@cache
def shared_server() -> Server:
    """Return the one server of this process, with a template database that contains the schema."""
    server = SHARED.enter_context(running_server("max_connections=200"))
    server.run(f"CREATE DATABASE {TEMPLATE}")
    PostgresStore(server.url(TEMPLATE)).close()
    return server
