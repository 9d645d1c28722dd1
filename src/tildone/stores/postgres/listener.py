"""One LISTEN connection shared by all waiters.

Theory of operation. Each waiter subscribes with an `Event` of its own and then reads the head, in this order: a change
after the subscription sets the event, a change before it is visible in the head. A daemon thread, started by the first
waiter, holds the connection and sets the events of a session when the server notifies of a change. Notifications sent
while the connection was down are lost, so whenever it is established all events are set: every waiter reads the head
again. A waiter may therefore be woken without a change, but misses none.

The thread blocks in a selector on two sockets: the server's, and one end of a pair whose other end is closed to stop
it.
"""

from __future__ import annotations

import selectors
import socket
from contextlib import closing, contextmanager
from threading import Event, Lock, Thread
from time import monotonic

import psycopg

from tildone.errors import StoreError
from tildone.stores.postgres.connections import FIRST_RETRY_DELAY_SECONDS, MAX_RETRY_DELAY_SECONDS
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from psycopg import Connection

    from tildone.stores.postgres.connections import ConnectionPool

JOIN_TIMEOUT_SECONDS = 1.0

RECHECK_SECONDS = 10.0
"""A waiter reads the store itself this often, in case a notification was lost with its connection."""

ANY_SESSION = None
"""Stands for the key of a session: a waiter for a change of any."""


class Listener:
    """Sets the events of waiters when a session changes. `statement` is the query that begins to listen."""

    def __init__(self, connections: ConnectionPool, statement: bytes) -> None:
        self._connections, self._statement = connections, statement
        self._lock = Lock()
        self._subscribers: dict[str | None, set[Event]] = {}
        self._thread: Thread | None = None
        self._stop: socket.socket | None = None

    def wait(self, session: str | None, is_reached: Callable[[], bool], timeout: float) -> bool:
        """Wait until `is_reached` returns True; return False if `timeout` seconds pass first.

        It is called again whenever the session of that key may have changed. All waiters share one connection.
        """
        if timeout <= 0:
            return is_reached()
        self._connections.check_usable()
        until = monotonic() + timeout
        with self.subscribe(session) as notified:
            while not is_reached():
                left = until - monotonic()
                if left <= 0:
                    return False
                notified.wait(min(left, RECHECK_SECONDS))
                notified.clear()
        return True

    @contextmanager
    def subscribe(self, session: str | None) -> Iterator[Event]:
        """Provide an event that is set whenever the session of that key, or any session, may have changed."""
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
        """Wake the waiters of these sessions and of any session; all waiters if none is given."""
        with self._lock:
            for session in (*sessions, ANY_SESSION) if sessions else self._subscribers:
                for notified in self._subscribers.get(session, ()):
                    notified.set()

    def close(self) -> None:
        """Stop the thread. The pool must be closed first."""
        if self._thread and self._stop:
            # The other end becomes readable, which ends `select`.
            self._stop.close()
            self._thread.join(JOIN_TIMEOUT_SECONDS)

    def _listen(self, stopped: socket.socket) -> None:
        delay = FIRST_RETRY_DELAY_SECONDS
        with stopped:
            while not self._connections.closed:
                try:
                    with closing(self._connections.connect()) as connection:
                        connection.execute(self._statement)
                        self.wake()
                        delay = FIRST_RETRY_DELAY_SECONDS
                        self._forward(connection, stopped)
                except (psycopg.Error, StoreError):
                    # Waiters read the head regularly, and get the error there.
                    self._connections.sleep(delay)
                    delay = min(2 * delay, MAX_RETRY_DELAY_SECONDS)

    def _forward(self, connection: Connection, stopped: socket.socket) -> None:
        """Wake waiters as the server notifies, until the store is closed or the connection lost."""
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            selector.register(stopped, selectors.EVENT_READ)
            while not self._connections.closed:
                selector.select()
                connection.pgconn.consume_input()
                while notification := connection.pgconn.notifies():
                    self.wake(notification.extra.decode())
