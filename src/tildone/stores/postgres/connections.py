"""A pool of connections to one database.

Theory of operation. Connections are opened on demand, up to `MAX_CONNECTIONS`, and reused last in, first out, so that
the rest become idle and are closed. `ask` runs work on one. When the connection is lost in it, all idle ones are
dropped too (they went the same way), and the work is repeated on a new connection with exponential back-off until the
timeout. The work is told how often it was tried, because an earlier try may have committed without an answer.

A server that was never reached is an error at once: a wrong address should not take a timeout to be reported. One that
was reached before, or says that it is starting up, is waited for.

psycopg_pool is not used: it starts four threads, and reports every server that it cannot reach as a timeout.
"""

from __future__ import annotations

import logging
import os
from threading import TIMEOUT_MAX, Condition, Event
from time import monotonic

import psycopg
from psycopg.pq import TransactionStatus

from tildone.errors import StoreBusy, StoreError
from tildone.stores.postgres.failures import (
    connect_error,
    connection_lost,
    connection_refused,
    is_temporary,
    reason_of,
    store_error,
)
from tildone.stores.postgres.schema import prepare_connection
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from psycopg import Connection

    from tildone.stores.postgres.address import Address

    T = TypeVar("T")

MAX_CONNECTIONS = 8
IDLE_SECONDS = 60.0

FIRST_PAUSE_SECONDS = 0.01
LONGEST_PAUSE_SECONDS = 1.0


# psycopg logs a warning when it cannot roll back on a lost connection. It is of no interest: the work is repeated.
_NULL_HANDLER = logging.NullHandler()


class Connections:
    """The connections of one store. Errors of the driver become `StoreError`, which never contains the password."""

    def __init__(self, address: Address, timeout: float) -> None:
        self.where = address.where
        self._conninfo = address.conninfo
        self._timeout = min(timeout, TIMEOUT_MAX)
        self._process = os.getpid()
        self._closing = Event()
        self._free = Condition()
        self._idle: list[tuple[float, Connection]] = []
        self._open = 0
        self._reached = False
        logging.getLogger(psycopg.__name__).addHandler(_NULL_HANDLER)

    @property
    def closed(self) -> bool:
        """Whether the pool was closed."""
        return self._closing.is_set()

    def ask(self, work: Callable[[Connection, int], T]) -> T:
        """Run `work` on a connection and return its result; repeat it when the connection is lost, until the timeout.

        Its second argument is how often it was tried before: an earlier try may have committed without an answer.
        """
        until = monotonic() + self._timeout
        pause, tries = FIRST_PAUSE_SECONDS, 0
        while True:
            connection = self._borrow(until)
            try:
                return work(connection, tries)
            except psycopg.Error as error:
                if not connection_lost(error, closed=connection.closed):
                    raise store_error(error, self.where) from error
                connection.close()
                if monotonic() + pause > until:
                    why = f"{self.where} was lost, for longer than we wait: {reason_of(error)}"
                    raise StoreError(why) from error
            finally:
                self._give_back(connection)
            tries += 1
            self._drop_idle()
            self.rest(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def connect(self) -> Connection:
        """Open a connection outside the pool.

        Raises:
            psycopg.Error: the server cannot be reached, or refuses the connection.
            StoreError: the database is no store and cannot become one.
        """
        connection = psycopg.connect(self._conninfo, autocommit=True)
        self._reached = True
        try:
            prepare_connection(connection, self.where, self._timeout)
        except BaseException:
            connection.close()
            raise
        return connection

    def rest(self, seconds: float) -> None:
        """Sleep, but no longer than until the pool is closed."""
        self._closing.wait(seconds)

    def close(self) -> None:
        """Close every connection; those in use when their work ends."""
        self._closing.set()
        with self._free:
            self._free.notify_all()
        self._drop_idle()

    def check_usable(self) -> None:
        """Check that the pool may be used.

        Raises:
            StoreError: it was closed, or opened before this process was forked.
        """
        if self._process != os.getpid():
            raise StoreError(f"{self.where} was opened before this process was forked; open it again")
        if self.closed:
            raise StoreError(f"{self.where} was closed")

    def _borrow(self, until: float) -> Connection:
        self.check_usable()
        with self._free:
            while not self.closed and not self._idle and self._open >= MAX_CONNECTIONS:
                if not self._free.wait(until - monotonic()):
                    raise StoreBusy(
                        f"all {MAX_CONNECTIONS} connections to {self.where} are in use, for longer than we wait"
                    )
            self.check_usable()
            if self._idle:
                return self._idle.pop()[1]
            self._open += 1
        try:
            return self._connected(until)
        except BaseException:
            self._gone()
            raise

    def _connected(self, until: float) -> Connection:
        """A new connection, waiting for a server that was reached before or is starting up."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                return self.connect()
            except psycopg.Error as error:
                if not connection_refused(error):
                    raise store_error(error, self.where) from error
                if self.closed or monotonic() + pause > until or not (self._reached or is_temporary(error)):
                    raise connect_error(error, self.where) from error
            self.rest(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _give_back(self, connection: Connection) -> None:
        # A connection inside a transaction was interrupted; its state is unknown.
        if connection.pgconn.transaction_status != TransactionStatus.IDLE or self.closed:
            connection.close()
            self._gone()
            return
        now = monotonic()
        with self._free:
            self._idle.append((now, connection))
            self._free.notify()
            longest = self._idle[0][0]
        if longest < now - IDLE_SECONDS:
            self._drop_idle(now - IDLE_SECONDS)

    def _drop_idle(self, since: float = float("inf")) -> None:
        """Close the idle connections that were last used before `since`."""
        with self._free:
            dropped = [connection for used, connection in self._idle if used < since]
            self._idle = self._idle[len(dropped) :]
        for connection in dropped:
            connection.close()
            self._gone()

    def _gone(self) -> None:
        with self._free:
            self._open -= 1
            self._free.notify()
