"""One LISTEN connection shared by all waiters.

Theory of operation. Each waiter subscribes with an `Event` of its own and then reads the head, in this order: a change
after the subscription sets the event, a change before it is seen in the head. A daemon thread, started by the first
waiter, holds the connection and sets the events of a session when the server notifies of a change. Notifications sent
while the connection was down are lost, so whenever it is established all events are set: every waiter reads the head
again. A waiter may therefore be woken for nothing, but misses no change.

The thread blocks in a selector on two sockets: the server's, and one end of a pair whose other end is closed to stop
it.
"""

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

JOIN_TIMEOUT_SECONDS = 1.0


class Listener:
    """Sets the events of those who wait for a change of a session."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._lock = Lock()
        self._subscribers: dict[str, set[Event]] = {}
        self._thread: Thread | None = None
        self._stop: socket.socket | None = None

    @contextmanager
    def subscribe(self, session: str) -> Iterator[Event]:
        """An event that is set whenever the session of that key may have changed, while the context lasts."""
        notified = Event()
        with self._lock:
            self._subscribers.setdefault(session, set()).add(notified)
            if self._thread is None:
                self._stop, stopped = socket.socketpair()
                self._thread = Thread(target=self._listen, args=(stopped,), name="tildone listener", daemon=True)
                self._thread.start()
        try:
            yield notified
        finally:
            with self._lock:
                self._subscribers[session].discard(notified)
                if not self._subscribers[session]:
                    del self._subscribers[session]

    def wake(self, *sessions: str) -> None:
        """Wake those who wait for one of the sessions; all waiters if none is named."""
        with self._lock:
            for session in sessions or self._subscribers:
                for notified in self._subscribers.get(session, ()):
                    notified.set()

    def close(self) -> None:
        """Stop the thread. The connections are closed before."""
        if self._thread and self._stop:
            # The selector sees the other end become readable.
            self._stop.close()
            self._thread.join(JOIN_TIMEOUT_SECONDS)

    def _listen(self, stopped: socket.socket) -> None:
        pause = FIRST_PAUSE_SECONDS
        with stopped:
            while not self._connections.closed:
                try:
                    with closing(self._connections.connect()) as connection:
                        connection.execute(query("listen"))
                        self.wake()
                        pause = FIRST_PAUSE_SECONDS
                        self._forward(connection, stopped)
                except (psycopg.Error, StoreError):
                    # Waiters read the head now and then, and get the error there.
                    self._connections.rest(pause)
                    pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _forward(self, connection: Connection, stopped: socket.socket) -> None:
        """Wake waiters as the server notifies, until the store is closed or the connection lost."""
        with selectors.DefaultSelector() as either:
            either.register(connection.fileno(), selectors.EVENT_READ)
            either.register(stopped, selectors.EVENT_READ)
            while not self._connections.closed:
                either.select()
                connection.pgconn.consume_input()
                while notification := connection.pgconn.notifies():
                    self.wake(notification.extra.decode())
