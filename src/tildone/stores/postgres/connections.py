"""A pool of connections to one database.

Theory of operation. Connections are opened on demand, up to `MAX_CONNECTIONS`, and reused last in, first out, so that
the rest become idle and are closed. `run` passes one to a function. If the connection is lost meanwhile, all idle ones
are dropped too (they are probably lost as well), and the function is called again with a new connection, with
exponential back-off until the timeout. It gets the number of earlier attempts, because one of them may have committed
without an acknowledgement.

Each statement has a time limit (`timed_connection`), a little longer than it waits for a lock.

A server that was never reached is reported at once: a wrong address should not take a whole timeout. One that was
reached before, or that reports that it is starting up, is waited for.

psycopg_pool is not used: it starts four threads, and reports every server that it cannot reach as a timeout.
"""

from __future__ import annotations

import logging
import os
from threading import TIMEOUT_MAX, Condition, Event
from time import monotonic

import psycopg
from psycopg.pq import TransactionStatus

from tildone.errors import StoreBusy, StoreError, StoreUnreachable
from tildone.stores.postgres.failures import (
    connect_error,
    connection_lost,
    connection_refused,
    is_temporary,
    reason_of,
    store_error,
)
from tildone.stores.postgres.schema import prepare_connection
from tildone.stores.postgres.timed_connection import TimedConnection
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from psycopg import Connection

    from tildone.stores.postgres.address import Address

    T = TypeVar("T")

MAX_CONNECTIONS = 8
MAX_IDLE_SECONDS = 60.0
MAX_SLOW_SECONDS = 3600.0
"""How long work may take that grows with the store: a migration of the schema, an import, a check."""

ANSWER_SECONDS = 1.0
"""How much longer than the timeout a statement may take: after the timeout, the server reports that it is locked."""

FIRST_RETRY_DELAY_SECONDS = 0.01
MAX_RETRY_DELAY_SECONDS = 1.0


# psycopg logs a warning when it cannot roll back on a lost connection. It is suppressed, since the work is repeated.
_NULL_HANDLER = logging.NullHandler()


class ConnectionPool:
    """The connections of one store. Errors of the driver become `StoreError`, which never contains the password.

    With `read_only`, connecting does not create a store in the database.
    """

    def __init__(self, address: Address, timeout: float, *, read_only: bool = False) -> None:
        self.where = address.where
        self._conninfo = address.conninfo
        self._timeout = min(timeout, TIMEOUT_MAX)
        self._read_only = read_only
        self._process = os.getpid()
        self._closing = Event()
        self._free = Condition()
        self._idle: list[tuple[float, TimedConnection]] = []
        self._open = 0
        self._reached = False
        logging.getLogger(psycopg.__name__).addHandler(_NULL_HANDLER)

    @property
    def closed(self) -> bool:
        """Whether the pool was closed."""
        return self._closing.is_set()

    def run(self, work: Callable[[Connection, int], T], *, is_slow: bool = False) -> T:
        """Run `work` on a connection and return its result; repeat it when the connection is lost, until the timeout.

        Its second argument is the number of earlier attempts: one may have committed without an acknowledgement. Work
        that takes longer than it should loses its connection; `is_slow` work may take an hour.
        """
        until = monotonic() + self._timeout
        limit = MAX_SLOW_SECONDS if is_slow else self._timeout + ANSWER_SECONDS
        delay, attempts = FIRST_RETRY_DELAY_SECONDS, 0
        while True:
            connection = self._borrow(until)
            try:
                with connection.limit(limit):
                    return work(connection, attempts)
            except psycopg.Error as error:
                if not connection_lost(error, closed=connection.closed):
                    raise store_error(error, self.where) from error
                connection.close()
                self._drop_idle()
                if monotonic() + delay > until:
                    message = f"lost the connection to {self.where}: {reason_of(error)}"
                    raise StoreUnreachable(message) from error
            finally:
                self._give_back(connection)
            attempts += 1
            self.sleep(delay)
            delay = min(2 * delay, MAX_RETRY_DELAY_SECONDS)

    def connect(self) -> TimedConnection:
        """Open a connection outside the pool.

        Raises:
            psycopg.Error: the server cannot be reached, or refuses the connection.
            StoreError: the database is not a store and cannot be made one.
        """
        connection = TimedConnection.connect(self._conninfo, autocommit=True)
        self._reached = True
        try:
            with connection.limit(MAX_SLOW_SECONDS):
                prepare_connection(connection, self.where, self._timeout, read_only=self._read_only)
        except BaseException:
            connection.close()
            raise
        return connection

    def sleep(self, seconds: float) -> None:
        """Sleep, or return early when the pool is closed."""
        self._closing.wait(seconds)

    def close(self) -> None:
        """Close every connection; those in use are closed when their work ends."""
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

    def _borrow(self, until: float) -> TimedConnection:
        self.check_usable()
        with self._free:
            while not self.closed and not self._idle and self._open >= MAX_CONNECTIONS:
                if not self._free.wait(until - monotonic()):
                    raise StoreBusy(
                        f"all {MAX_CONNECTIONS} connections to {self.where} are in use: timed out waiting for one"
                    )
            self.check_usable()
            if self._idle:
                return self._idle.pop()[1]
            self._open += 1
        try:
            return self._connected(until)
        except BaseException:
            self._decrement_open()
            raise

    def _connected(self, until: float) -> TimedConnection:
        """Return a new connection; wait for a server that was reached before or is starting up."""
        delay = FIRST_RETRY_DELAY_SECONDS
        while True:
            try:
                return self.connect()
            except psycopg.Error as error:
                if not connection_refused(error):
                    raise store_error(error, self.where) from error
                if self.closed or monotonic() + delay > until or not (self._reached or is_temporary(error)):
                    raise connect_error(error, self.where) from error
            self.sleep(delay)
            delay = min(2 * delay, MAX_RETRY_DELAY_SECONDS)

    def _give_back(self, connection: TimedConnection) -> None:
        # A connection inside a transaction was interrupted; its state is unknown.
        if connection.pgconn.transaction_status != TransactionStatus.IDLE or self.closed:
            connection.close()
            self._decrement_open()
            return
        now = monotonic()
        with self._free:
            self._idle.append((now, connection))
            self._free.notify()
            oldest = self._idle[0][0]
        if oldest < now - MAX_IDLE_SECONDS:
            self._drop_idle(now - MAX_IDLE_SECONDS)

    def _drop_idle(self, since: float = float("inf")) -> None:
        """Close the idle connections that were last used before `since`."""
        with self._free:
            dropped = [connection for used, connection in self._idle if used < since]
            self._idle = self._idle[len(dropped) :]
        for connection in dropped:
            connection.close()
            self._decrement_open()

    def _decrement_open(self) -> None:
        with self._free:
            self._open -= 1
            self._free.notify()
