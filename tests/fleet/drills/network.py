"""A network connection to a PostgreSQL server that can stall, go silent and be reset."""

import selectors
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread

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
        for pair in pairs:
            for each in pair:
                _reset(each)

    def silence(self) -> None:
        """Let all connections be as if their peer were gone: nothing is passed on, ever. New ones work."""
        with self._lock:
            self._pairs.clear()

    def close(self) -> None:
        self._door.close()
        self.go_on()
        self.reset()

    def _admit(self) -> None:
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        self._flows.wait()
        with client, socket.socket(socket.AF_UNIX) as server:
            pair = (client, server)
            try:
                server.connect(self._server)
                with self._lock:
                    self._pairs.add(pair)
                self._pass_on(pair)
            except OSError:
                return
            finally:
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


def _reset(each: socket.socket) -> None:
    try:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER)
        each.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
