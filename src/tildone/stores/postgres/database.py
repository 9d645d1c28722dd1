"""The database of one store, shared by its log, its records and its leases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from psycopg import Connection, errors

from tildone.base import RunFenced, StoreError
from tildone.plan import codec
from tildone.plan.runs import RunFence
from tildone.stores.postgres.connections import ConnectionPool
from tildone.stores.postgres.rows import query, scalar

T = TypeVar("T")
Rows = list[tuple[Any, ...]]
Verdict = tuple[str, int, str | None]
"""Whether an event was appended (`done`), the time, and the claims that it takes or that forbid it."""


class Database:
    """Runs queries by name. Its log and its claims change only while the lease of the `fence` is held, if there is one.

    Work gets a connection and the number of earlier attempts, as `ConnectionPool.run` says.
    """

    def __init__(self, connections: ConnectionPool, fence: RunFence | None) -> None:
        self.connections = connections
        self.fence = fence

    def run(self, work: Callable[[Connection, int], T], *, is_slow: bool = False) -> T:
        """Run `work` on a connection and return its result."""
        return self.connections.run(work, is_slow=is_slow)

    def rows(self, name: str, /, **row: Any) -> Rows:
        """Return the rows of a query."""
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
        """Run a statement that returns no rows."""
        self.run(lambda connection, _: connection.execute(query(name), row))

    def append(self, session: str, row: dict[str, Any], write: Callable[[Connection], Verdict]) -> Verdict:
        """Append the event of a row with `write`, and return what that returns.

        After an attempt whose answer was lost, the event may be in the database already, and the verdict is `done`.

        Raises:
            StoreError: the session has another event with that id.
            RunFenced: the run has passed to another worker, or has ended.
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

        Raises:
            RunFenced: the run has passed to another worker, or has ended.
        """
        if self.fence is None:
            return statement()
        with self.transaction(connection):
            return statement()

    @contextmanager
    def transaction(self, connection: Connection) -> Iterator[None]:
        """Begin a transaction. If this process works for a run, its lease cannot pass to another until it ends.

        Raises:
            RunFenced: the run has passed to another worker, or has ended.
        """
        with connection.transaction():
            fence = self.fence
            if fence is not None:
                row = {"run": fence.run, "hand": fence.hand, "epoch": fence.epoch}
                [(is_held,)] = connection.execute(query("holds"), row).fetchall()
                if not is_held:
                    raise RunFenced(fence.run)
            yield
