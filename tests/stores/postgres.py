"""A PostgreSQL server for tests, and databases on it. It ends with the test process, even if that is killed."""

import atexit
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from tests.stores.postgres_keeper import why_not

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
TOO_LONG = 300.0

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
    """Return the name of the database in a URL."""
    return url.partition("?")[0].rpartition("/")[2]


def execute(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements on a new connection, and return the rows of the last one."""
    import psycopg  # noqa: PLC0415  where it is missing, the tests that need it are skipped

    with psycopg.connect(url, autocommit=True, client_encoding="utf8") as connection:
        *_, last = (connection.execute(statement.encode()) for statement in statements)
        return last.fetchall() if last.description else []


def truncate(url: str, tables: str) -> None:
    """Empty tables that others use. Those may have locked them in another order: then it is tried again."""
    import psycopg  # noqa: PLC0415  as above

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
            end_input(keeper)
            keeper.wait()


@cache
def shared_server() -> Server:
    """Return the one server of this process, with a template database that contains the schema."""
    # Only where there is a server is there a driver to talk to it.
    from tildone.stores.postgres.store import PostgresStore  # noqa: PLC0415  see above

    running = ExitStack()
    server = running.enter_context(running_server("max_connections=200"))
    atexit.register(running.close)
    server.run(f"CREATE DATABASE {TEMPLATE}")
    PostgresStore(server.url(TEMPLATE)).close()
    return server


@contextmanager
def program(name: str, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """Start one of the programs in `postgres_programs.py`; it is killed at the end of the block."""
    command = [sys.executable, "-W", "error", "-m", "tests.stores.postgres_programs", name, *map(str, arguments)]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def next_line(process: "subprocess.Popen[str]") -> str:
    """Return the next line of a program's output."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def end_input(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.close()


def ended(process: "subprocess.Popen[str]") -> str:
    """Return the output of a program that ends successfully by itself; its input stays open."""
    assert process.stdout is not None
    assert process.stderr is not None
    giving_up = Timer(TOO_LONG, process.kill)
    giving_up.start()
    try:
        out, err = process.stdout.read(), process.stderr.read()
        assert (process.wait(), err) == (0, "")
    finally:
        giving_up.cancel()
    return out
