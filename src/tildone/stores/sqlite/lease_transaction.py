"""A transaction on the leases and the log of a SQLite store. It has the write lock from its beginning."""

from __future__ import annotations

from tildone.core.query import next_task
from tildone.log.claims import lease_mark
from tildone.log.events import PlanChanged
from tildone.log.fleet.rules import why_lapsed
from tildone.log.fleet.settings import FleetSettings
from tildone.log.fleet.workers import BadRow
from tildone.log.json_scanner import dump
from tildone.log.state import latest_state
from tildone.log.tree import SessionHead
from tildone.stores.fleet_rows import settings_in
from tildone.stores.lease_rows import COLUMNS, changed_row, lease_in, lease_row
from tildone.stores.schedule_rows import schedule_in, schedule_row
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
    from tildone.log.fleet.workers import RunSchedule
    from tildone.stores.scribe import Scribe


@value
class Machine:
    """The machine on which leases are held: its clock, its name, and which of its processes live."""

    moment: Callable[[], Moment]
    host: str
    is_alive: Callable[[int], bool]


class SqliteLeaseTransaction:
    """What an operation reads and writes. `history` returns the events of a session, newest first.

    Bad rows are passed over. Where one would be in the way of others, it is set aside first: the run has failed.
    """

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
        self._scribe = scribe
        self.at = machine.moment()

    def lock(self, _name: str) -> None:
        """Do nothing: the transaction has the lock of the whole store."""

    def settings(self) -> FleetSettings:
        """Return the settings of the fleet."""
        return settings_in(self._rows("fleet_settings"), self._scribe)

    def leases(self, run: str) -> list[Lease]:
        """Return the leases of a run, by hand."""
        return self._leases("leases", run=run)

    def lease(self, run: str, hand: int) -> Lease | None:
        """Return the lease of a hand."""
        return next(iter(self._leases("lease", run=run, hand=hand)), None)

    def session_of(self, run: str) -> str | None:
        """Return the session of a run."""
        return next((from_sql(session) for (session,) in self._rows("session_of_run", run=run)), None)

    def active(self, session: str) -> set[str]:
        """Return the runs of a session that have not ended."""
        return {run for (run,) in self._rows("active_runs", session=to_sql(session))}

    def owned(self, owners: Sequence[str]) -> list[Lease]:
        """Return the leases that owners have."""
        return self._leases("owned_leases", owners=dump(list(owners)))

    def takeable(self, who: Claimer, run: str, hand: int) -> Lease | None:
        """Return the lease of a hand if it is queued, and a worker may take it."""
        return next(iter(self._claimable(who, run, hand, unsent=False)), None)

    def claimable(self, who: Claimer, _most: int, *, unsent: bool = False) -> list[Lease]:
        """Return the first lease that a worker may take."""
        return self._claimable(who, None, None, unsent=unsent)

    def within_limits(self, leases: Sequence[Lease], *, sent: bool = False) -> list[Lease]:  # noqa: ARG002  see below
        """Return all: what can be claimed is within its limits."""
        return list(leases)

    def lapsed(self, _settings: FleetSettings, *, by_time: bool) -> tuple[Lease, str] | None:
        """Return a lease that has lapsed, and why."""
        here = self._machine
        for columns in self._rows("held_leases"):
            lease = lease_in(columns, from_sql)
            if isinstance(lease, BadRow):
                self._set_aside(columns, lease)
                continue
            why = why_lapsed(lease, self.at, here.host, here.is_alive, by_time=by_time)
            if why:
                return lease, why
        return None

    def insert(self, lease: Lease) -> None:
        """Add a lease."""
        self._rows("insert_lease", **_columns(lease))

    def update(self, lease: Lease) -> None:
        """Change a lease."""
        self._rows("update_lease", **changed_row(lease) | {"sent": int(lease.sent)})

    def mark_sent(self, leases: Sequence[Lease]) -> None:
        """Record that an engine has leases."""
        for lease in leases:
            self.update(replace(lease, sent=True))

    def head(self, session: str) -> str | None:
        """Return the head of a session."""
        return self._session_head(session).head

    def has_event(self, session: str, event: str) -> bool:
        """Return whether a session has an event."""
        return self._connection.execute(queries.EVENT_EXISTS, (to_sql(session), to_sql(event))).get is not None

    def append(self, session: str, event: Event) -> None:
        """Append an event to the head. The redo stack stays, unless the event contains a plan."""
        redo = () if isinstance(event.fact, PlanChanged) else self._session_head(session).redo
        insert_event(self._connection, session, event, "")
        if redo:
            self._connection.execute(queries.MOVE_HEAD, (to_sql(event.id), dump(list(redo)), to_sql(session)))

    def lapse_claims(self, session: str, lease: str) -> None:
        """End the claims of tasks that agents have under a lease, given as `run/hand`."""
        self._rows("lapse_claims", session=to_sql(session), mark=lease_mark(lease))

    def task(self, session: str) -> int:
        """Return the number of the task to work on; 0 if there is none."""
        upcoming = next_task(latest_state(self._history(session)).plan)
        return upcoming[1].number if upcoming else 0

    def announce(self) -> None:
        """Change the revision, which those who wait look at."""
        self._rows("announce")

    def has_repository(self, repo: str) -> bool:
        """Return whether a lease has a repository of exactly that name."""
        return bool(self._rows("has_repository", repo=repo))

    def repositories(self) -> list[str]:
        """Return the names of the repositories of all leases."""
        return [repo for (repo,) in self._rows("repositories")]

    def requests(self, provider: str) -> tuple[int, int]:
        """Return how many requests a minute a provider may get, and when the next would be at equal intervals."""
        return next(((requests, earliest) for requests, earliest in self._rows("requests", name=provider)), (0, 0))

    def set_next_request(self, provider: str, earliest: int) -> None:
        """Set when the next request would be at equal intervals."""
        self._rows("set_next_request", name=provider, earliest=earliest)

    def due(self) -> RunSchedule | None:
        """Return a schedule that is due."""
        while rows := self._rows("due", now=self.at.now):
            schedule = schedule_in(rows[0])
            if not isinstance(schedule, BadRow):
                return schedule
            self._scribe.on_bad_row(schedule)
            self._rows("set_schedule_aside", name=schedule.name)
        return None

    def put_schedule(self, schedule: RunSchedule) -> None:
        """Add or replace a schedule."""
        self._rows("set_schedule", **schedule_row(schedule))

    def _session_head(self, session: str) -> SessionHead:
        row = self._connection.execute(queries.SESSION_HEAD, (to_sql(session),)).get
        return SessionHead() if row is None else session_head_in(row, session, self._path)

    def _claimable(self, who: Claimer, run: str | None, hand: int | None, *, unsent: bool) -> list[Lease]:
        row = {"run": run, "hand": hand, "now": self.at.now, "protocol": who.protocol, "worker": who.worker}
        row |= {"labels": dump(list(who.labels)), "unsent": unsent, "quoted_worker": dump(who.worker)}
        while rows := self._rows("claimable", **row):
            columns, lease = rows[0], lease_in(rows[0], from_sql)
            if not isinstance(lease, BadRow):
                return [lease]
            self._set_aside(columns, lease)
        return []

    def _leases(self, statement: str, /, **row: Any) -> list[Lease]:
        return self._scribe.good(lease_in(columns, from_sql) for columns in self._rows(statement, **row))

    def _rows(self, statement: str, /, **row: Any) -> list[Any]:
        return self._connection.execute(query(statement), row).fetchall()

    def _set_aside(self, columns: Any, bad: BadRow) -> None:
        self._scribe.on_bad_row(bad)
        run, hand = columns[COLUMNS.index("run")], columns[COLUMNS.index("hand")]
        self._rows("set_aside", run=run, hand=hand)


def _columns(lease: Lease) -> dict[str, Any]:
    return lease_row(lease) | {
        "session": to_sql(lease.session),
        "labels": dump(list(lease.work.labels)),
        "sent": int(lease.sent),
    }
