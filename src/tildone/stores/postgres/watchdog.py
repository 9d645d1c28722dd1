"""Ends connections whose server does not answer in time.

Theory of operation. A peer that is gone without a word, such as one behind a firewall that has forgotten the
connection, may leave a statement waiting for ever: keepalives and `tcp_user_timeout` notice only a kernel that does not
answer. So each use of a connection has a time limit, after which the watchdog shuts its socket down. The driver then
reports a lost connection, as it does for any other. The thread is started with the first use, and sleeps until a limit
is due.

The socket is shut down under the lock that the end of a use needs, too: until then, the connection is not closed, and
its file descriptor belongs to no other file.
"""

from __future__ import annotations

import os
import socket
from contextlib import contextmanager
from threading import Condition, Thread
from time import monotonic

import psycopg

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import Connection


class Watchdog:
    """The time limits of the connections in use."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._limits: dict[Connection, float] = {}
        self._thread: Thread | None = None

    @contextmanager
    def limit(self, connection: Connection, seconds: float) -> Iterator[None]:
        """End the connection if the block takes longer."""
        until = monotonic() + seconds
        with self._changed:
            is_next = until < min(self._limits.values(), default=float("inf"))
            self._limits[connection] = until
            if self._thread is None:
                self._thread = Thread(target=self._watch, name="tildone watchdog", daemon=True)
                self._thread.start()
            elif is_next:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                del self._limits[connection]

    def _watch(self) -> None:
        with self._changed:
            while True:
                now = monotonic()
                for connection in [each for each, until in self._limits.items() if until <= now]:
                    self._limits[connection] = float("inf")
                    _shut_down(connection)
                self._changed.wait(_patience(min(self._limits.values(), default=float("inf")) - now))


def _patience(seconds: float) -> float | None:
    return None if seconds == float("inf") else max(0.0, seconds)


def _shut_down(connection: Connection) -> None:
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as other:
            other.shutdown(socket.SHUT_RDWR)
    except (psycopg.Error, OSError):
        # It was closed or lost in the meantime.
        return
