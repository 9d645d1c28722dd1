"""Where drills take place: a SQLite file on one machine, or a PostgreSQL server, with or without an engine."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from threading import Lock
from typing import Self

from tests.fleet.drills.network import Proxy
from tests.stores.postgres import TEMPLATE, Server, database_of, running_server
from tests.suite.waiting import until

SETTINGS = ("max_connections=300", "fsync=off", "full_page_writes=off")


class Place(Enum):
    """The store and the engine of a fleet."""

    SQLITE = "sqlite"
    TABLE = "postgres-table"
    DBOS = "postgres-dbos"


@dataclass(frozen=True)
class Ground:
    """The store of one drill: its address, and the server that has it, if any."""

    place: Place
    address: str
    server: Server | None = None
    cleaning: ExitStack = field(default_factory=ExitStack)

    @property
    def is_one_machine(self) -> bool:
        return self.place is Place.SQLITE

    @property
    def engine(self) -> str:
        return "dbos" if self.place is Place.DBOS else "table"

    def proxy(self) -> Proxy:
        """Return a network connection to the server that can fail."""
        assert self.server is not None
        return self.cleaning.enter_context(Proxy.to(self.server.folder, database_of(self.address)))

    def kill_server(self) -> None:
        """Kill the postmaster, and wait until its other processes have ended, too."""
        assert self.server is not None
        kill_server(self.server)

    def start_server(self) -> None:
        assert self.server is not None
        self.server.order("start")

    @contextmanager
    def down(self) -> Iterator[None]:
        """Let the store not answer: its server is down, or its file locked."""
        if self.place is not Place.SQLITE:
            self.kill_server()
            yield
            self.start_server()
            return
        with closing(sqlite3.connect(self.address, isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            yield


def kill_server(server: Server) -> None:
    """Kill the postmaster of a server, and wait until its other processes have ended, too."""
    data = Path(server.folder, "data")
    postmaster = (data / "postmaster.pid").read_text(encoding="utf-8").split()[0]
    os.kill(int(postmaster), signal.SIGKILL)

    def is_left(pid: str) -> bool:
        return pid == postmaster or _folder_of(pid) == str(data)

    # A postmaster that its parent has not waited for counts as running.
    until(lambda: not any(map(is_left, filter(str.isdigit, os.listdir("/proc")))))


def _folder_of(pid: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def prepare(server: Server, database: str) -> None:
    """Create our tables and those of the engine in a database."""
    words = [sys.executable, "-m", "tildone", "fleet", "up", "--json"]
    environ = os.environ | {"TILDONE_STORE": server.url(database)}
    subprocess.run(words, env=environ, stdout=subprocess.DEVNULL, check=True)


class Grounds:
    """The stores of drills that may run at the same time. Those that do not stop their server share one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._stack = ExitStack()
        self._shared: Server | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @contextmanager
    def ground(self, place: Place, folder: Path, *, own_server: bool) -> Iterator[Ground]:
        """Provide a store for a drill."""
        with ExitStack() as stack:
            if place is Place.SQLITE:
                yield Ground(place, str(folder / "plans.db"), cleaning=stack)
                return
            if own_server:
                server = stack.enter_context(running_server(*SETTINGS))
                prepare(server, "postgres")
                yield Ground(place, server.url("postgres"), server, stack)
                return
            shared = self._server()
            address = stack.enter_context(shared.database(TEMPLATE))
            yield Ground(place, address, shared, stack)

    def _server(self) -> Server:
        with self._lock:
            if self._shared is None:
                self._shared = self._stack.enter_context(running_server(*SETTINGS))
                self._shared.run(f"CREATE DATABASE {TEMPLATE}")
                prepare(self._shared, TEMPLATE)
            return self._shared
