"""A proxy between a client and a PostgreSQL server that can cut connections at a chosen moment."""

import os
import selectors
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from enum import Enum, auto
from threading import Thread

from tests.stores.postgres import Server

SOCKET = ".s.PGSQL.5432"
READY = b"Z\x00\x00\x00\x05"
"""How a server says, followed by one more byte, that it has done everything it was asked."""

CHUNK = 1 << 20


class Cut(Enum):
    """Where the connection is cut: before a statement reaches the server, or before its result reaches the client."""

    REQUEST = auto()
    ANSWER = auto()


class Line:
    """A proxy with a Unix socket in place of the server's."""

    def __init__(self, folder: str, server: Server) -> None:
        self.connections = 0
        self._folder = folder
        self._server = f"{server.folder}/{SOCKET}"
        self._cut: Cut | None = None
        self._word = b""
        self._meanwhile: Callable[[], object] = lambda: None
        self.open()

    def url(self, url: str) -> str:
        """Return the URL of a database through this proxy."""
        return f"{url.partition('?')[0]}?host={self._folder}"

    def break_next(self, cut: Cut, meanwhile: Callable[[], object] = lambda: None, *, word: bytes = b"") -> None:
        """Cut the connection at the next statement that contains a word.

        An action may run before the client notices.
        """
        self._cut, self._meanwhile, self._word = cut, meanwhile, word

    def open(self) -> None:
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(f"{self._folder}/{SOCKET}")
        self._door.listen()
        Thread(target=self._admit, args=(self._door,), daemon=True).start()

    def close(self) -> None:
        if self._door.fileno() >= 0:
            os.unlink(f"{self._folder}/{SOCKET}")
            self._door.shutdown(socket.SHUT_RDWR)
            self._door.close()

    def _admit(self, door: socket.socket) -> None:
        while True:
            try:
                client, _ = door.accept()
            except OSError:
                return
            self.connections += 1
            Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server, selectors.DefaultSelector() as either:
            server.connect(self._server)
            either.register(client, selectors.EVENT_READ, server)
            either.register(server, selectors.EVENT_READ, client)
            while True:
                for ready, _ in either.select():
                    source, other = ready.fileobj, ready.data
                    assert isinstance(source, socket.socket)
                    if not self._passed(source, other, is_asked=source is client):
                        return

    def _passed(self, source: socket.socket, other: socket.socket, *, is_asked: bool) -> bool:
        """Return whether data were forwarded and the connection is still open."""
        try:
            said = source.recv(CHUNK)
            cut = self._cut if is_asked and said and self._word in said else None
            if cut is not Cut.REQUEST:
                other.sendall(said)
        except OSError:
            return False
        if cut is not None:
            self._cut = None
            if cut is Cut.ANSWER:
                _hear_out(other)
            self._meanwhile()
        return bool(said) and cut is None


def _hear_out(server: socket.socket) -> None:
    """Wait until the server has executed the statement."""
    heard = b""
    while not heard[:-1].endswith(READY):
        heard += server.recv(CHUNK)


@contextmanager
def line_to(server: Server) -> Iterator[Line]:
    """A proxy in front of the server."""
    folder = f"{server.folder}/line{next(server.numbers)}"
    os.mkdir(folder)
    with ExitStack() as cleaning:
        cleaning.callback(shutil.rmtree, folder)
        line = Line(folder, server)
        cleaning.callback(line.close)
        yield line
