"""A transaction on the leases and the log of a PostgreSQL store."""

from __future__ import annotations

from functools import cached_property

from tildone.core.query import next_task
from tildone.errors import HeadMoved
from tildone.log import codec
from tildone.log.claims import lease_mark
from tildone.log.fleet.rules import Moment
from tildone.log.fleet.settings import FleetSettings
from tildone.log.state import latest_state
from tildone.log.tree import SessionHead
from tildone.stores.lease_rows import COLUMNS, lease_in, lease_row
from tildone.stores.postgres.names import from_sql, key
from tildone.stores.postgres.queries import fleet_query, query
from tildone.stores.postgres.rows import event_id, row_of, session_row
from tildone.stores.postgres.verdicts import scalar
from tildone.stores.schedule_rows import schedule_in, schedule_row
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from psycopg import Connection

    from tildone.log.events import Event
    from tildone.log.fleet.lease import Claimer, Lease
    from tildone.log.fleet.workers import RunSchedule

MAX_EVENTS_TO_PLAN = 1024
MAX_BYTES_TO_PLAN = 10_000_000

SCHEDULE_COLUMNS = ("name", "cron", "plan", "next", "work", "zone", "last")

_SESSION, _LABELS = COLUMNS.index("session"), COLUMNS.index("labels")


class PostgresLeaseTransaction:
    """What an operation reads and writes on a connection that is in a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @cached_property
    def at(self) -> Moment:
        """The time at which it was first asked for."""
        [(clock,)] = self._rows("clock")
        return Moment(clock, clock)

    def lock(self, name: str) -> None:
        """Let no other transaction lock that name until this one ends."""
        self._rows("lock_name", name=key(name))

    def settings(self) -> FleetSettings:
        """Return the settings of the fleet."""
        [row] = self._rows("fleet_settings")
        return FleetSettings(*row)

    def leases(self, run: str) -> list[Lease]:
        """Return the leases of a run, by hand."""
        return list(map(lease_of, self._rows("leases", run=run)))

    def lease(self, run: str, hand: int) -> Lease | None:
        """Return the lease of a hand."""
        return self._one("lease", run=run, hand=hand)

    def session_of(self, run: str) -> str | None:
        """Return the session of a run, without a lock."""
        return next((from_sql(session) for (session,) in self._rows("session_of_run", run=run)), None)

    def living(self, session: str) -> set[str]:
        """Return the runs of a session that have not ended, without a lock."""
        return {run for (run,) in self._rows("living_runs", session=key(session))}

    def owned(self, owner: str) -> Lease | None:
        """Return the lease that an owner has."""
        return self._one("owned_lease", owner=owner)

    def claimable(self, who: Claimer, only: tuple[str, int] | None, *, unsent: bool = False) -> Lease | None:
        """Return the first lease that a worker may take; with `only`, that of a run and hand."""
        run, hand = only or (None, None)
        row = {"run": run, "hand": hand, "now": self.at.now, "protocol": who.protocol, "worker": who.worker}
        return self._one("claimable", **row, labels=list(who.labels), unsent=unsent)

    def lapsed(self, settings: FleetSettings, *, by_time: bool) -> tuple[Lease, str] | None:
        """Return a lease that has lapsed, and why."""
        lease = self._one("lapsed", clock=self.at.clock, grace=settings.grace) if by_time else None
        return None if lease is None else (lease, "its lease has lapsed")

    def insert(self, lease: Lease) -> None:
        """Add a lease."""
        self._connection.execute(fleet_query("insert_lease"), _columns(lease))

    def update(self, lease: Lease) -> None:
        """Change a lease."""
        self._connection.execute(fleet_query("update_lease"), _columns(lease))

    def head(self, session: str) -> SessionHead:
        """Return the head and the redo stack of a session, which stays locked."""
        for head, redo, body in self._rows("locked_head", session=key(session)):
            return SessionHead(None if head is None else event_id(head, body), tuple(codec.parse_strictly(redo)))
        return SessionHead()

    def has_event(self, session: str, event: str) -> bool:
        """Return whether a session has an event."""
        row = {"session": key(session), "id": key(event)}
        return self._connection.execute(query("body"), row).fetchone() is not None

    def append(self, session: str, event: Event, redo: tuple[str, ...]) -> None:
        """Append an event to the head, and set the redo stack.

        Raises:
            HeadMoved: another writer has created the session since it was looked for.
        """
        if scalar(self._connection, "append", session_row(session) | row_of(event)) != "done":
            raise HeadMoved(session)
        if redo:
            row = {"session": key(session), "head": key(event.id), "ahead": codec.dump(list(redo))}
            scalar(self._connection, "set_head", row)

    def lapse_claims(self, session: str, lease: str) -> None:
        """End the claims of tasks that agents have under a lease, given as `run/hand`."""
        row = {"session": key(session), "mark": lease_mark(lease)}
        self._connection.execute(fleet_query("lapse_claims"), row)

    def task(self, session: str) -> int:
        """Return the number of the task to work on; 0 if there is none."""
        row = {"session": key(session), "head": None, "steps": MAX_EVENTS_TO_PLAN, "bytes": MAX_BYTES_TO_PLAN}
        rows = self._connection.execute(query("history"), row | {"to_snapshot": True}).fetchall()
        upcoming = next_task(latest_state(codec.decode(body) for body, _ in rows).plan)
        return upcoming[1].number if upcoming else 0

    def announce(self) -> None:
        """Tell those who wait that leases may be free, or that a wish was added."""
        self._rows("announce")

    def requests(self, provider: str) -> tuple[int, int]:
        """Return how many requests a minute a provider may get, and when the next would be at equal intervals."""
        return next(((requests, earliest) for requests, earliest in self._rows("requests", name=provider)), (0, 0))

    def set_next_request(self, provider: str, earliest: int) -> None:
        """Set when the next request would be at equal intervals."""
        self._connection.execute(fleet_query("set_next_request"), {"name": provider, "earliest": earliest})

    def due(self) -> RunSchedule | None:
        """Return a schedule that is due."""
        return next(map(schedule_in, self._rows("due", now=self.at.now)), None)

    def put_schedule(self, schedule: RunSchedule) -> None:
        """Add or replace a schedule."""
        self._connection.execute(fleet_query("set_schedule"), schedule_columns(schedule))

    def _one(self, statement: str, /, **row: Any) -> Lease | None:
        return next(map(lease_of, self._rows(statement, **row)), None)

    def _rows(self, statement: str, /, **row: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(fleet_query(statement), row).fetchall()


def lease_of(columns: Sequence[Any]) -> Lease:
    """Return the lease of a row."""
    return lease_in(columns, from_sql(columns[_SESSION]), columns[_LABELS])


def schedule_columns(schedule: RunSchedule) -> dict[str, Any]:
    """Return the parameters of a schedule."""
    return dict(zip(SCHEDULE_COLUMNS, schedule_row(schedule), strict=True))


def _columns(lease: Lease) -> dict[str, Any]:
    return lease_row(lease) | {"session": key(lease.session), "labels": list(lease.work.labels)}
