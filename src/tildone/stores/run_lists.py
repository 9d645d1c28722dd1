"""Reads some of the leases of a store, for screens. `RunLists` in `tildone.log.fleet.workers` documents the calls."""

from __future__ import annotations

from tildone.log.fleet.lease import LeaseState
from tildone.log.fleet.workers import BadRow, RunGroup, RunView
from tildone.stores.lease_rows import lease_in, remaining
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from tildone.log.fleet.lease import Lease
    from tildone.log.fleet.workers import RunLists, RunPlace
    from tildone.log.store import Store
    from tildone.stores.lease_transaction import LeaseTables

STATES = [state.value for state in LeaseState]


def lists_of(store: Store) -> RunLists | None:
    """Return the leases of runs in a store, to be read in parts; None if the store cannot have any."""
    lists: Callable[[], RunLists] | None = getattr(store, "run_lists", None)
    return lists() if lists else None


class StoredRunLists:
    """The leases in the tables of a store, to be read."""

    def __init__(self, tables: LeaseTables) -> None:
        self._tables = tables

    def page(self, group: RunGroup, after: RunPlace, limit: int) -> list[RunView]:
        place = {"since": after.since, "run": after.run, "hand": after.hand, "limit": limit}
        return self._views(self._tables.timed_rows("page_of_leases", **_group(group), **place))

    def held(self) -> list[RunView]:
        return self._views(self._tables.timed_rows("held_leases"))

    def asking(self) -> list[Lease]:
        return [lease for lease, _ in self._good(self._tables.timed_rows("asking_leases"))]

    def of_sessions(self, sessions: Sequence[str]) -> list[RunView]:
        found = self._views(self._tables.rows_of_sessions(sessions))
        return sorted(found, key=lambda view: (view.lease.run, view.lease.hand))

    def counts(self, limit: int) -> dict[RunGroup, int]:
        return {group: self._number("count_leases", **_group(group), limit=limit) for group in RunGroup}

    def taken_over(self, since: int) -> int:
        return self._number("count_taken_over", states=STATES, since=since)

    def recent_sessions(self, since: int) -> list[str]:
        rows = self._tables.rows("recent_sessions", states=STATES, since=since)
        return [self._tables.session(session) for (session,) in rows]

    def exists(self) -> bool:
        return bool(self._number("fleet_exists"))

    def now(self) -> int:
        return self._tables.now()

    def _views(self, rows: Iterable[tuple[Sequence[Any], int]]) -> list[RunView]:
        return [RunView(lease, remaining=remaining(lease, clock)) for lease, clock in self._good(rows)]

    def _good(self, rows: Iterable[tuple[Sequence[Any], int]]) -> list[tuple[Lease, int]]:
        found = ((lease_in(columns, self._tables.session), clock) for columns, clock in rows)
        return [(lease, clock) for lease, clock in found if not isinstance(lease, BadRow)]

    def _number(self, statement: str, /, **row: Any) -> int:
        return next((int(number) for (number,) in self._tables.rows(statement, **row)), 0)


def _group(group: RunGroup) -> dict[str, object]:
    return {"state": group.state.value, "held": group.is_held}
