"""Reads some of the leases of a SQLite store. See `RunLists`."""

from __future__ import annotations

from tildone.log.fleet.workers import BadRow, RunGroup, RunView
from tildone.stores.sqlite import fleet_queries
from tildone.stores.sqlite.boot import moment
from tildone.stores.sqlite.lease_transaction import rows_of_leases
from tildone.stores.sqlite.schema import from_sql, to_sql
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tildone.log.fleet.lease import Lease
    from tildone.log.fleet.workers import RunPlace
    from tildone.stores.sqlite.file import SqliteFile


class SqliteRunLists:
    """The leases of a SQLite store, to be read."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    def page(self, group: RunGroup, after: RunPlace, limit: int) -> list[RunView]:
        """Return the leases of a group that follow a place."""
        place = {"since": after.since, "run": after.run, "hand": after.hand, "limit": limit}
        return self._views(fleet_queries.PAGE_OF_LEASES, _group(group) | place)

    def held(self) -> list[RunView]:
        """Return all leases that workers hold."""
        return self._views(fleet_queries.ALL_HELD, ())

    def asking(self) -> list[Lease]:
        """Return the leases with open questions."""
        return self._leases(fleet_queries.ASKING_LEASES, ())

    def of_sessions(self, sessions: Sequence[str]) -> list[RunView]:
        """Return all leases of some sessions."""
        found = [view for each in sessions for view in self._views(fleet_queries.LEASES_OF_SESSION, (to_sql(each),))]
        return sorted(found, key=lambda view: (view.lease.run, view.lease.hand))

    def counts(self, limit: int) -> dict[RunGroup, int]:
        """Return how many leases are in each group, counted up to a limit."""
        with self._file as connection:
            return {
                group: connection.execute(fleet_queries.COUNT_LEASES, _group(group) | {"limit": limit}).get
                for group in RunGroup
            }

    def taken_over(self, since: int) -> int:
        """Return how many leases whose state is newer than a time were lost before."""
        with self._file as connection:
            return int(connection.execute(fleet_queries.COUNT_TAKEN_OVER, (since,)).get)

    def recent_sessions(self, since: int) -> list[str]:
        """Return the sessions of leases whose state is newer than a time, or that workers hold."""
        with self._file as connection:
            rows: list[Any] = connection.execute(fleet_queries.RECENT_SESSIONS, (since,)).fetchall()
        return [from_sql(session) for (session,) in rows]

    def exists(self) -> bool:
        """Return whether there is a lease or a worker."""
        with self._file as connection:
            return bool(connection.execute(fleet_queries.FLEET_EXISTS).get)

    def now(self) -> int:
        """Return the time of this machine."""
        return moment().now

    def _views(self, statement: str, row: Any) -> list[RunView]:
        leases, clock = self._leases(statement, row), moment().clock
        return [RunView(each, remaining=max(0, each.until - clock) if each.is_held else 0) for each in leases]

    def _leases(self, statement: str, row: Any) -> list[Lease]:
        with self._file as connection:
            rows = rows_of_leases(connection, statement, row)
        return [each for each in rows if not isinstance(each, BadRow)]


def _group(group: RunGroup) -> dict[str, object]:
    held = group.is_held
    return {"state": group.state.value, "held": None if held is None else int(held)}
