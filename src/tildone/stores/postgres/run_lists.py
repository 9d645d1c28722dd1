"""Reads some of the leases of a PostgreSQL store. See `RunLists`."""

from __future__ import annotations

from tildone.log.fleet.lease import LeaseState
from tildone.log.fleet.workers import BadRow, RunGroup, RunView
from tildone.stores.postgres.lease_transaction import lease_of
from tildone.stores.postgres.names import from_sql, key
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tildone.log.fleet.lease import Lease
    from tildone.log.fleet.workers import RunPlace
    from tildone.stores.postgres.database import Database

STATES = [state.value for state in LeaseState]


class PostgresRunLists:
    """The leases of a PostgreSQL store, to be read."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(self, group: RunGroup, after: RunPlace, limit: int) -> list[RunView]:
        """Return the leases of a group that follow a place."""
        place = {"since": after.since, "run": after.run, "hand": after.hand, "limit": limit}
        return self._views("page_of_leases", **_group(group), **place)

    def held(self) -> list[RunView]:
        """Return all leases that workers hold."""
        return self._views("held_leases")

    def asking(self) -> list[Lease]:
        """Return the leases with open questions."""
        found = map(lease_of, self._database.rows_if_any("asking_leases"))
        return [lease for lease in found if not isinstance(lease, BadRow)]

    def of_sessions(self, sessions: Sequence[str]) -> list[RunView]:
        """Return all leases of some sessions."""
        return self._views("leases_of_sessions", sessions=list(map(key, sessions)))

    def counts(self, limit: int) -> dict[RunGroup, int]:
        """Return how many leases are in each group, counted up to a limit."""
        return {group: self._number("count_leases", **_group(group), limit=limit) for group in RunGroup}

    def taken_over(self, since: int) -> int:
        """Return how many leases whose state is newer than a time were lost before."""
        return self._number("count_taken_over", states=STATES, since=since)

    def recent_sessions(self, since: int) -> list[str]:
        """Return the sessions of leases whose state is newer than a time, or that workers hold."""
        return [
            from_sql(session)
            for (session,) in self._database.rows_if_any("recent_sessions", states=STATES, since=since)
        ]

    def exists(self) -> bool:
        """Return whether there is a lease or a worker."""
        return bool(self._number("fleet_exists"))

    def now(self) -> int:
        """Return the time of the server."""
        return self._number("clock")

    def _views(self, statement: str, /, **row: Any) -> list[RunView]:
        views = []
        for *columns, clock in self._database.rows_if_any(statement, **row):
            lease = lease_of(columns)
            if isinstance(lease, BadRow):
                continue
            views.append(RunView(lease, remaining=max(0, lease.until - clock) if lease.is_held else 0))
        return views

    def _number(self, statement: str, /, **row: Any) -> int:
        return next((int(number) for (number,) in self._database.rows_if_any(statement, **row)), 0)


def _group(group: RunGroup) -> dict[str, object]:
    return {"state": group.state.value, "held": group.is_held}
