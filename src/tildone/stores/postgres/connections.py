"""Connections to one database: opened when they are needed, shared by threads, and replaced when they are lost.

psycopg's own pool keeps four threads from the start, and says of every server it can't reach that time ran out.
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


# What the driver could not undo on a connection that was lost is nobody's concern: another one takes its place. Without
# this, it would say so on the screen.
_UNHEARD = logging.NullHandler()


class Connections:
    """As many connections as there are threads at work at once, up to a bound.

    What the driver raises leaves as a `StoreError`, which names the database and never the password.
    """

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
        logging.getLogger(psycopg.__name__).addHandler(_UNHEARD)

    @property
    def closed(self) -> bool:
        """Whether nothing is to be asked any more."""
        return self._closing.is_set()

    def ask(self, work: Callable[[Connection, int], T]) -> T:
        """What `work` gives on a connection; it is begun anew when the server is lost, until timeout ends.

        It is told how often it was begun before: what it did then may have got through without an answer.
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
            # The others go the way this one went.
            self._drop_idle()
            self.rest(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def connect(self) -> Connection:
        """A connection to a store, for whoever keeps it to himself.

        Raises:
            psycopg.Error: the server can't be reached, or does not let us in.
            StoreError: there is no store behind it, nor can there be.
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
        """Pause, unless the store is closed meanwhile."""
        self._closing.wait(seconds)

    def close(self) -> None:
        """Let go of every connection: those in use when they are given back."""
        self._closing.set()
        with self._free:
            self._free.notify_all()
        self._drop_idle()

    def check(self) -> None:
        """See that nothing stands in the way of a question, but the server.

        Raises:
            StoreError: the store was closed, or opened by the process that this one was forked from.
        """
        if self._process != os.getpid():
            raise StoreError(f"{self.where} was opened before this process was forked; it opens one of its own")
        if self.closed:
            raise StoreError(f"{self.where} was closed")

    def _borrow(self, until: float) -> Connection:
        self.check()
        with self._free:
            while not self.closed and not self._idle and self._open >= MAX_CONNECTIONS:
                if not self._free.wait(until - monotonic()):
                    raise StoreBusy(
                        f"all {MAX_CONNECTIONS} connections to {self.where} are in use, for longer than we wait"
                    )
            self.check()
            if self._idle:
                return self._idle.pop()[1]
            self._open += 1
        try:
            return self._connected(until)
        except BaseException:
            self._gone()
            raise

    def _connected(self, until: float) -> Connection:
        """A new connection. A server that has been reached before, or says that it is coming up, is waited for."""
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
        # What was interrupted in mid-work, or belongs to a store that was closed meanwhile, is not used again.
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
        """Close those that have not been used since then."""
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
