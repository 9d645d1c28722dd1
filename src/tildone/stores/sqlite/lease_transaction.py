"""A transaction on the leases and the log of a SQLite store. It has the write lock from its beginning."""

from __future__ import annotations

from tildone.core.query import next_task
from tildone.log.events import PlanChanged
from tildone.log.fleet.rules import why_lapsed
from tildone.log.fleet.settings import FleetSettings
from tildone.log.fleet.workers import BadRow
from tildone.log.json_scanner import dump
from tildone.log.state import latest_state
from tildone.log.tree import SessionHead
from tildone.stores.lease_rows import COLUMNS, lease_in
from tildone.stores.lease_transaction import LeaseTransaction
from tildone.stores.sqlite import queries
from tildone.stores.sqlite.fleet_queries import query
from tildone.stores.sqlite.rows import insert_event, session_head_in
from tildone.stores.sqlite.schema import from_sql, to_sql
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    import apsw

    from tildone.log.events import Event
    from tildone.log.fleet.lease import Claimer, Lease
    from tildone.log.fleet.rules import Moment
    from tildone.stores.scribe import Scribe


@value
class Machine:
    """The machine on which leases are held: its clock, its name, and which of its processes live."""

    moment: Callable[[], Moment]
    host: str
    is_alive: Callable[[int], bool]


class SqliteLeaseTransaction(LeaseTransaction):
    """What an operation reads and writes. `history` returns the events of a session, newest first."""

    def __init__(
        self,
        connection: apsw.Connection,
        path: str,
        machine: Machine,
        history: Callable[[str], Iterator[Event]],
        scribe: Scribe,
    ) -> None:
        self._connection = connection
        self._path = path
        self._machine = machine
        self._history = history
        self.scribe = scribe
        self._at = machine.moment()

    @property
    def at(self) -> Moment:
        return self._at

    def lock(self, _name: str) -> None:
        """Do nothing: the transaction has the lock of the whole store."""

    def takeable(self, who: Claimer, run: str, hand: int) -> Lease | None:
        return next(iter(self._claimable(who, run, hand, unsent=False)), None)

    def claimable(self, who: Claimer, _most: int, *, unsent: bool = False) -> list[Lease]:
        """Return the first lease that a worker may take."""
        return self._claimable(who, None, None, unsent=unsent)

    def within_limits(self, leases: Sequence[Lease], *, sent: bool = False) -> list[Lease]:  # noqa: ARG002  see below
        """Return all: what can be claimed is within its limits."""
        return list(leases)

    def lapsed(self, _settings: FleetSettings, *, by_time: bool) -> tuple[Lease, str] | None:
        here = self._machine
        for columns in self.rows("held_leases"):
            lease = lease_in(columns, from_sql)
            if isinstance(lease, BadRow):
                self._set_aside(columns, lease)
                continue
            why = why_lapsed(lease, self.at, here.host, here.is_alive, by_time=by_time)
            if why:
                return lease, why
        return None

    def mark_sent(self, leases: Sequence[Lease]) -> None:
        for lease in leases:
            self.update(replace(lease, sent=True))

    def head(self, session: str) -> str | None:
        return self._session_head(session).head

    def has_event(self, session: str, event: str) -> bool:
        return self._connection.execute(queries.EVENT_EXISTS, (to_sql(session), to_sql(event))).get is not None

    def append(self, session: str, event: Event) -> None:
        redo = () if isinstance(event.fact, PlanChanged) else self._session_head(session).redo
        insert_event(self._connection, session, event, "")
        if redo:
            self._connection.execute(queries.MOVE_HEAD, (to_sql(event.id), dump(list(redo)), to_sql(session)))

    def task(self, session: str) -> int:
        upcoming = next_task(latest_state(self._history(session)).plan)
        return upcoming[1].number if upcoming else 0

    def _session_head(self, session: str) -> SessionHead:
        row = self._connection.execute(queries.SESSION_HEAD, (to_sql(session),)).get
        return SessionHead() if row is None else session_head_in(row, session, self._path)

    def _claimable(self, who: Claimer, run: str | None, hand: int | None, *, unsent: bool) -> list[Lease]:
        row = {"run": run, "hand": hand, "now": self.at.now, "protocol": who.protocol, "worker": who.worker}
        row |= {"labels": dump(list(who.labels)), "unsent": unsent, "quoted_worker": dump(who.worker)}
        while rows := self.rows("claimable", **row):
            columns, lease = rows[0], lease_in(rows[0], from_sql)
            if not isinstance(lease, BadRow):
                return [lease]
            self._set_aside(columns, lease)
        return []

    def kept(self, rows: Sequence[Sequence[Any]]) -> list[Lease]:
        return self.scribe.good(lease_in(columns, from_sql) for columns in rows)

    def key(self, session: str) -> str | bytes | None:
        return to_sql(session)

    def session(self, stored: Any) -> str:
        return from_sql(stored)

    def texts(self, texts: Sequence[str]) -> str:
        return dump(list(texts))

    def execute(self, statement: str, /, **row: Any) -> None:
        self.rows(statement, **row)

    def rows(self, statement: str, /, **row: Any) -> list[Any]:
        return self._connection.execute(query(statement), row).fetchall()

    def _set_aside(self, columns: Any, bad: BadRow) -> None:
        self.scribe.on_bad_row(bad)
        run, hand = columns[COLUMNS.index("run")], columns[COLUMNS.index("hand")]
        self.rows("set_aside", run=run, hand=hand)
