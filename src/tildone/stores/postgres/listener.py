"""One ear for all who wait for a change: a connection on which the server tells of every one."""

from __future__ import annotations

import selectors
import socket
from contextlib import closing, contextmanager
from threading import Event, Lock, Thread

import psycopg

from tildone.errors import StoreError
from tildone.stores.postgres.connections import FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS
from tildone.stores.postgres.queries import query
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import Connection

    from tildone.stores.postgres.connections import Connections

PARTING = 1.0


class Listener:
    """Rings the bells of those who wait, from a thread that begins with the first of them.

    A bell is rung at every change of its session, and whenever the ear was deaf and hears again: whoever waits
    looks then whether anything happened. So nothing is missed, and a bell may ring for nothing.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._lock = Lock()
        self._bells: dict[str, set[Event]] = {}
        self._thread: Thread | None = None
        self._alarm: socket.socket | None = None

    @contextmanager
    def bell(self, session: str) -> Iterator[Event]:
        """A bell that rings when the session of that key may have changed, for as long as the context lasts."""
        bell = Event()
        with self._lock:
            self._bells.setdefault(session, set()).add(bell)
            if self._thread is None:
                self._alarm, alarmed = socket.socketpair()
                self._thread = Thread(target=self._listen, args=(alarmed,), name="tildone listener", daemon=True)
                self._thread.start()
        try:
            yield bell
        finally:
            with self._lock:
                self._bells[session].discard(bell)
                if not self._bells[session]:
                    del self._bells[session]

    def ring(self, *sessions: str) -> None:
        """Wake those who wait for one of the sessions; all, if none is named."""
        with self._lock:
            for session in sessions or self._bells:
                for bell in self._bells.get(session, ()):
                    bell.set()

    def close(self) -> None:
        """End the thread, once the connections are closed."""
        if self._thread and self._alarm:
            # Its other end hears that it is closed.
            self._alarm.close()
            self._thread.join(PARTING)

    def _listen(self, alarmed: socket.socket) -> None:
        pause = FIRST_PAUSE_SECONDS
        with alarmed:
            while not self._connections.closed:
                try:
                    with closing(self._connections.connect()) as connection:
                        connection.execute(query("listen"))
                        self.ring()
                        pause = FIRST_PAUSE_SECONDS
                        self._hear(connection, alarmed)
                except (psycopg.Error, StoreError):
                    # Whoever waits looks by himself now and then, and is told what is wrong.
                    self._connections.rest(pause)
                    pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _hear(self, connection: Connection, alarmed: socket.socket) -> None:
        """Ring for what the server tells, until the store is closed or the connection lost."""
        with selectors.DefaultSelector() as either:
            either.register(connection.fileno(), selectors.EVENT_READ)
            either.register(alarmed, selectors.EVENT_READ)
            while not self._connections.closed:
                either.select()
                connection.pgconn.consume_input()
                while told := connection.pgconn.notifies():
                    self.ring(told.extra.decode())
