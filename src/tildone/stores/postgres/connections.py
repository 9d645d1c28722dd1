"""Connections to one database: its schema, a pool, time limits, driver errors as `StoreError`, LISTEN/NOTIFY, queries.

Theory of operation. Connections are opened on demand, up to `MAX_CONNECTIONS`, and reused last in, first out, so that
the rest become idle and are closed. `run` passes one to a function. If the connection is lost meanwhile, all idle ones
are dropped too (they are probably lost as well), and the function is called again with a new connection, with
exponential back-off until the timeout. It gets the number of earlier attempts, because one of them may have committed
without an acknowledgement.

Each statement has a time limit (`TimedConnection`), a little longer than it waits for a lock.

A server that was never reached is reported at once: a wrong address should not take a whole timeout. One that was
reached before, or that reports that it is starting up, is waited for.

psycopg_pool is not used: it starts four threads, and reports every server that it cannot reach as a timeout.
"""

from __future__ import annotations

import logging
import os
import selectors
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from threading import TIMEOUT_MAX, Condition, Event, Lock, Thread
from time import monotonic
from typing import Any, TypeVar

import psycopg
from psycopg import Connection, Error, OperationalError, errors
from psycopg.pq import TransactionStatus
from psycopg.waiting import Ready

from tildone.base import (
    TYPE_CHECKING,
    NotFound,
    RunFenced,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreTooNew,
    StoreUnreachable,
)
from tildone.plan import codec
from tildone.plan.runs import RunFence
from tildone.stores.postgres.address import Address
from tildone.stores.postgres.rows import migrations, query, scalar

if TYPE_CHECKING:
    from psycopg.abc import PQGen

T = TypeVar("T")
Rows = list[tuple[Any, ...]]
Verdict = tuple[str, int, str | None]
"""Whether an event was appended (`done`), the time, and the claims that it takes or that forbid it."""


TEMPORARY_MESSAGES = (
    "starting up",
    "shutting down",
    "not yet accepting connections",
    "not accepting connections",
    "in recovery mode",
    "too many clients",
    "connection slots are reserved",
    "too many connections",
)
"""Substrings of error messages after which a new attempt may succeed, in the server's default language."""

NO_ENCRYPTION = "server does not support SSL, but SSL was required"

_SHUTDOWN_CLASS = "57P"
_PREFIXES = ("failed: ", "is bad: ", "FATAL:  ")


def is_temporary(error: Error) -> bool:
    return any(part in str(error) for part in TEMPORARY_MESSAGES)


def connection_refused(error: Error) -> bool:
    return isinstance(error, OperationalError) and (error.sqlstate or _SHUTDOWN_CLASS).startswith(_SHUTDOWN_CLASS)


def connection_lost(error: Error, *, closed: bool) -> bool:
    """Return whether the connection was lost, which leaves open whether the statement was executed."""
    if isinstance(error, errors.IdleInTransactionSessionTimeout):
        # This process was stopped for a while in the middle of a transaction.
        return True
    if not isinstance(error, (OperationalError, errors.InterfaceError)):
        return False
    # A server that shuts down reports that before it closes the connection.
    return closed or (error.sqlstate or "").startswith(_SHUTDOWN_CLASS)


def connect_error(error: Error, where: str) -> StoreError:
    """Return the `StoreError` for a failed connection attempt; libpq gives the reason only as text."""
    reason = reason_of(error)
    if NO_ENCRYPTION in reason:
        return StoreError(
            f"{where} offers no encryption, so no password and no plan was sent to it; enable TLS on the server, "
            "or, if the network between is trusted, add sslmode=disable to the address or set PGSSLMODE=disable"
        )
    if "does not exist" in reason and "database" in reason:
        return StoreError(f"there is no {where}: create the database first")
    if "too many" in reason or "slots are reserved" in reason:
        return StoreBusy(f"{where} has no free connection: {reason}")
    if "Connection refused" in reason or "No such file" in reason or "timeout expired" in reason:
        return StoreUnreachable(f"cannot reach {where}: {reason}")
    # A server that is ending closes a new connection at once.
    if is_temporary(error) or "server closed the connection" in reason:
        return StoreUnreachable(f"cannot connect to {where}: {reason}")
    return StoreError(f"cannot connect to {where}: {reason}")


def store_error(error: Error, where: str) -> StoreError:
    match error:
        case errors.LockNotAvailable():
            return StoreBusy(f"{where} is in use by another process, for longer than we wait")
        case errors.DiskFull():
            return StoreError(f"{where} can't grow: the disk is full")
        case errors.ReadOnlySqlTransaction():
            return StoreError(f"{where} can't be written: it is read-only")
        case errors.InsufficientPrivilege():
            return StoreError(f"no access to {where}: {reason_of(error)}")
        case errors.UndefinedTable() | errors.UndefinedColumn() | errors.UndefinedFunction():
            return StoreDamaged(f"{where} is damaged: {reason_of(error)}")
        case errors.InvalidSchemaName() | errors.DataCorrupted() | errors.IndexCorrupted():
            return StoreDamaged(f"{where} is damaged: {reason_of(error)}")
        case _:
            return StoreError(f"{where}: {reason_of(error)}")


def reason_of(error: Error) -> str:
    """Return the reason of an error on one line, in the server's words if it gave one."""
    if error.diag.message_primary:
        return error.diag.message_primary
    reason = str(error).partition("\n")[0]
    for prefix in _PREFIXES:
        reason = reason.rpartition(prefix)[2]
    return reason or type(error).__name__


WAKE_SECONDS = 0.1


class TimedConnection(psycopg.Connection[tuple[object, ...]]):
    """A connection that is closed if the server has not answered a statement after `patience` seconds.

    A peer that is gone without a word, such as one behind a firewall that has forgotten the connection, may leave a
    statement waiting for ever: keepalives and `tcp_user_timeout` notice only a kernel that does not answer. psycopg
    wakes up ten times a second while it waits for the server, and gives up after the limit.
    """

    patience = float("inf")

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """Close the connection if the server does not answer a statement of the block in this time."""
        self.patience = seconds
        try:
            yield
        finally:
            self.patience = float("inf")

    def wait(self, gen: PQGen[T], interval: float = WAKE_SECONDS, timeout: float | None = None) -> T:
        if timeout is None:
            return super().wait(self._in_time(gen), interval)
        return super().wait(self._in_time(gen), interval, timeout)

    def _in_time(self, gen: PQGen[T]) -> PQGen[T]:
        until = monotonic() + self.patience
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if ready == Ready.NONE and monotonic() > until:
                    self.close()
                    raise psycopg.OperationalError("the server does not answer")
                wanted = gen.send(ready)
        except StopIteration as end:
            result: T = end.value
            return result


MIGRATION_LOCK = 0x746C646E  # "tldn"
ENCODING = "UTF8"
MILLISECONDS = 1000
MAX_TIMEOUT_MS = 2**31 - 1


def prepare_connection(connection: Connection, where: str, timeout: float, *, read_only: bool = False) -> None:
    """Set up a new connection and check that its database is a store; create or migrate the schema if necessary.

    With `read_only`, the database is not changed.

    Raises:
        NotFound: there is no schema, and `read_only` forbids to create it.
        StoreTooNew: a newer tildone wrote it.
        StoreDamaged: the schema `tildone` is not a store.
        StoreError: the encoding of the database is not UTF-8.
    """
    wait = f"{int(min(max(1, timeout * MILLISECONDS), MAX_TIMEOUT_MS))}ms"
    known = migrations()[-1][0]
    version = _prepared_version(connection, wait)
    if read_only and not version and not _version(connection, where):
        raise NotFound(f"there is no store in {where}")
    if version < known and not read_only:
        _migrate(connection, where, wait)
        version = _prepared_version(connection, wait)
    if version > known:
        raise StoreTooNew(
            f"{where} was written by a newer tildone: it has schema {version}, this one supports up to {known}; "
            "upgrade tildone"
        )


def _prepared_version(connection: Connection, wait: str) -> int:
    """Apply the settings; return the version of the schema, 0 if there is none."""
    try:
        row = connection.execute(query("prepare"), {"timeout": wait}).fetchone()
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        return 0
    return row[0] or 0 if row else 0


def _migrate(connection: Connection, where: str, wait: str) -> None:
    """Run the missing migrations in one transaction. Of several processes, an advisory lock admits one at a time."""
    with connection.transaction():
        connection.execute(query("lock_timeout"), {"timeout": wait})
        connection.execute(query("migration_lock"), {"lock": MIGRATION_LOCK})
        current = _version(connection, where)
        for number, name, statements in migrations():
            if number > current:
                connection.execute(statements)
                connection.execute(query("record_migration"), {"version": number, "name": name})


def _version(connection: Connection, where: str) -> int:
    """Return the version to migrate from, 0 if there is no store."""
    encoding, used, versioned = connection.execute(query("schema_state")).fetchone() or ("", False, False)
    if encoding != ENCODING:
        raise StoreError(f"{where} has the encoding {encoding}; tildone needs a database with the encoding {ENCODING}")
    if not used:
        return 0
    [version] = (versioned and connection.execute(query("version")).fetchone()) or (None,)
    if version is None:
        raise StoreDamaged(f"{where} has a schema named tildone that is not a tildone store")
    return int(version)


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

        Raises StoreError if it was closed, or opened before this process was forked.
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


JOIN_TIMEOUT_SECONDS = 1.0

RECHECK_SECONDS = 10.0
"""A waiter reads the store itself this often, in case a notification was lost with its connection."""

ANY_SESSION = None
"""Stands for the key of a session: a waiter for a change of any."""


class Listener:
    """Sets the events of waiters when a session changes. `statement` is the query that begins to listen.

    Theory of operation. All waiters share one LISTEN connection. Each subscribes with an `Event` of its own and then
    reads the head, in this order: a change after the subscription sets the event, a change before it is visible in the
    head. A daemon thread, started by the first waiter, holds the connection and sets the events of a session when the
    server notifies of a change. Notifications sent while the connection was down are lost, so whenever it is
    established all events are set: every waiter reads the head again. A waiter may therefore be woken without a change,
    but misses none.

    The thread blocks in a selector on two sockets: the server's, and one end of a pair whose other end is closed to
    stop it.
    """

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


class Database:
    """Runs queries by name. Its log and its claims change only while the lease of the `fence` is held, if there is one.

    Work gets a connection and the number of earlier attempts, as `ConnectionPool.run` says.
    """

    def __init__(self, connections: ConnectionPool, fence: RunFence | None) -> None:
        self.connections = connections
        self.fence = fence

    def run(self, work: Callable[[Connection, int], T], *, is_slow: bool = False) -> T:
        return self.connections.run(work, is_slow=is_slow)

    def rows(self, name: str, /, **row: Any) -> Rows:
        return self.run(lambda connection, _: connection.execute(query(name), row).fetchall())

    def rows_if_any(self, name: str, /, **row: Any) -> Rows:
        """Return the rows of a query; none in a database of an older schema that may only be read."""

        def read(connection: Connection, _attempts: int) -> Rows:
            try:
                return connection.execute(query(name), row).fetchall()
            except (errors.UndefinedTable, errors.UndefinedFunction):
                return []

        return self.run(read)

    def write(self, name: str, /, **row: Any) -> None:
        self.run(lambda connection, _: connection.execute(query(name), row))

    def append(self, session: str, row: dict[str, Any], write: Callable[[Connection], Verdict]) -> Verdict:
        """Append the event of a row with `write`, and return what that returns.

        After an attempt whose answer was lost, the event may be in the database already, and the verdict is `done`.
        Raises StoreError if the session has another event with that id, RunFenced if the run has passed to another
        worker, or has ended.
        """

        def attempt(connection: Connection, attempts: int) -> Verdict:
            def is_there() -> bool:
                return bool(attempts) and scalar(connection, "body", row) == row["body"]

            try:
                found = write(connection)
            except errors.UniqueViolation as error:
                if is_there():
                    return "done", 0, None
                raise StoreError(f"{session!r} has an event {codec.decode(row['body']).id!r} already") from error
            except RunFenced:
                if is_there():
                    return "done", 0, None
                raise
            return ("done", found[1], None) if found[0] != "done" and is_there() else found

        return self.run(attempt)

    def in_run(self, connection: Connection, statement: Callable[[], T]) -> T:
        """Execute a statement, which is a transaction of its own unless this process works for a run.

        Raises RunFenced if the run has passed to another worker, or has ended.
        """
        if self.fence is None:
            return statement()
        with self.transaction(connection):
            return statement()

    @contextmanager
    def transaction(self, connection: Connection) -> Iterator[None]:
        """Begin a transaction. If this process works for a run, its lease cannot pass to another until it ends.

        Raises RunFenced if the run has passed to another worker, or has ended.
        """
        with connection.transaction():
            fence = self.fence
            if fence is not None:
                row = {"run": fence.run, "hand": fence.hand, "epoch": fence.epoch}
                [(is_held,)] = connection.execute(query("holds"), row).fetchall()
                if not is_held:
                    raise RunFenced(fence.run)
            yield
