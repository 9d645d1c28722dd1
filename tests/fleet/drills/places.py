"""Where drills take place: a SQLite file on one machine, or a PostgreSQL server, with or without an engine.

A server may have a standby to which nothing that was committed is lost, and a network to it that can stall, go silent
and be reset.
"""

import os
import selectors
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from pathlib import Path
from threading import Event, Lock, Thread

from tests.fleet.agents import is_running
from tests.stores.postgres import TEMPLATE, Server, database_of, running_server
from tests.stores.postgres_keeper import STANDBY
from tests.suite.waiting import until

SOCKET = ".s.PGSQL.5432"
CHUNK = 1 << 16
LINGER = struct.pack("ii", 1, 0)
"""A socket with this option sends a reset when it is closed."""


class Proxy:
    """Carries connections from a port of this machine to the socket of a server.

    While it stalls, it accepts connections and what they send, as the kernel of a peer does, but passes nothing on.
    """

    def __init__(self, folder: str, database: str) -> None:
        self._server = f"{folder}/{SOCKET}"
        self._database = database
        self._flows = Event()
        self._flows.set()
        self._lock = Lock()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._door = socket.create_server(("127.0.0.1", 0), backlog=64)
        Thread(target=self._admit, daemon=True).start()

    @classmethod
    @contextmanager
    def to(cls, folder: str, database: str) -> Iterator["Proxy"]:
        """Provide a proxy to the server with the socket in a folder."""
        proxy = cls(folder, database)
        try:
            yield proxy
        finally:
            proxy.close()

    @property
    def address(self) -> str:
        """The address of the database through this proxy."""
        return f"postgresql://postgres@127.0.0.1:{self._door.getsockname()[1]}/{self._database}?sslmode=disable"

    def stall(self) -> None:
        """Pass nothing on."""
        self._flows.clear()

    def go_on(self) -> None:
        """Pass on what has arrived meanwhile, and everything else."""
        self._flows.set()

    def reset(self) -> None:
        """Reset all connections."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for each in chain(*pairs):
            with suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER)
                each.shutdown(socket.SHUT_RDWR)

    def silence(self) -> None:
        """Let all connections be as if their peer were gone: nothing is passed on, ever. New ones work."""
        with self._lock:
            self._pairs.clear()

    def close(self) -> None:
        self._door.close()
        self.go_on()
        self.reset()

    def _admit(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._door.accept()
                Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        self._flows.wait()
        with client, socket.socket(socket.AF_UNIX) as server:
            pair = (client, server)
            with suppress(OSError):
                server.connect(self._server)
                with self._lock:
                    self._pairs.add(pair)
                self._pass_on(pair)
            with self._lock:
                self._pairs.discard(pair)

    def _pass_on(self, pair: tuple[socket.socket, socket.socket]) -> None:
        client, server = pair
        with selectors.DefaultSelector() as either:
            either.register(client, selectors.EVENT_READ, server)
            either.register(server, selectors.EVENT_READ, client)
            while True:
                for ready, _ in either.select():
                    source, other = ready.fileobj, ready.data
                    assert isinstance(source, socket.socket)
                    data = source.recv(CHUNK)
                    self._flows.wait()
                    if not data:
                        return
                    if pair in self._pairs:
                        other.sendall(data)


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
    cleaning: ExitStack
    its_server: Server | None = None

    @property
    def is_one_machine(self) -> bool:
        return self.place is Place.SQLITE

    @property
    def engine(self) -> str:
        return "dbos" if self.place is Place.DBOS else "table"

    @property
    def server(self) -> Server:
        assert self.its_server is not None
        return self.its_server

    def proxy(self) -> Proxy:
        """Return a network connection to the server that can fail."""
        return self.cleaning.enter_context(Proxy.to(self.server.folder, database_of(self.address)))

    @contextmanager
    def down(self) -> Iterator[None]:
        """Let the store not answer: its server is down, or its file locked."""
        if self.place is not Place.SQLITE:
            kill_server(self.server)
            yield
            self.server.order("start")
            return
        with closing(sqlite3.connect(self.address, isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            yield


def kill_server(server: Server) -> None:
    """Kill the postmaster of a server, and wait until its other processes have ended, too: each works in its folder."""
    data = Path(server.folder, "data")
    os.kill(int((data / "postmaster.pid").read_text(encoding="utf-8").split()[0]), signal.SIGKILL)

    def is_left(pid: str) -> bool:
        with suppress(OSError):
            return is_running(int(pid)) and os.readlink(f"/proc/{pid}/cwd") == str(data)
        return False

    until(lambda: not any(map(is_left, filter(str.isdigit, os.listdir("/proc")))))
    # Where nobody waits for orphans, the killed process stays a zombie, and the next server takes it for alive.
    for lock in (data / "postmaster.pid", Path(server.folder, SOCKET + ".lock")):
        lock.unlink(missing_ok=True)


def prepare(server: Server, database: str) -> None:
    """Create our tables and those of the engine in a database."""
    words = [sys.executable, "-m", "tildone", "fleet", "up", "--json"]
    environ = os.environ | {"TILDONE_STORE": server.url(database)}
    subprocess.run(words, env=environ, stdout=subprocess.DEVNULL, check=True)


class Grounds(ExitStack):
    """The stores of drills that may run at the same time. Those that do not stop their server share one."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()
        self._shared: Server | None = None

    @contextmanager
    def ground(self, place: Place, folder: Path, *, own_server: bool) -> Iterator[Ground]:
        """Provide a store for a drill."""
        with ExitStack() as stack:
            if place is Place.SQLITE:
                yield Ground(place, str(folder / "plans.db"), stack)
                return
            if own_server:
                server = stack.enter_context(running_server(*SETTINGS))
                prepare(server, "postgres")
                yield Ground(place, server.url("postgres"), stack, server)
                return
            shared = self._server()
            yield Ground(place, stack.enter_context(shared.database(TEMPLATE)), stack, shared)

    def _server(self) -> Server:
        with self._lock:
            if self._shared is None:
                self._shared = self.enter_context(running_server(*SETTINGS))
                self._shared.run(f"CREATE DATABASE {TEMPLATE}")
                prepare(self._shared, TEMPLATE)
            return self._shared


SYNCHRONOUS = "ALTER SYSTEM SET synchronous_standby_names = '*'"
STREAMING = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'"


@contextmanager
def standby_of(primary: Server) -> Iterator[Server]:
    """Start a physical standby. Every commit waits for it."""
    with running_server(f"{STANDBY}{primary.folder}", *SETTINGS) as standby:
        primary.run(SYNCHRONOUS, "SELECT pg_reload_conf()")
        until(lambda: primary.run(STREAMING) == [(1,)])
        yield standby
