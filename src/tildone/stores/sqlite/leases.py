"""The leases of a SQLite store, for workers of one machine (`tildone.stores.leasing`).

Theory of operation. Each operation is one transaction that has the write lock from its beginning, so operations never
overlap. Leases are measured by the clock that counts since the machine was started. A lease of another start, or of a
process that has ended, has lapsed at once; others lapse when their time has passed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from tildone.base import TYPE_CHECKING, replace, value
from tildone.base.json import dump
from tildone.log.kept import Finding, Severity
from tildone.log.lease_rules import Moment, why_lapsed
from tildone.log.settings import FleetSettings
from tildone.log.store import Store
from tildone.plan.events import Event, PlanChanged, SessionHead, latest_state
from tildone.plan.lists import BadRow
from tildone.plan.model import next_task
from tildone.plan.runs import Claimer, Kept, Lease, RunFence
from tildone.stores.agents import machine_name
from tildone.stores.lease_transaction import COLUMNS, LeaseTransaction, Scribe, lease_in
from tildone.stores.polling import wait_until
from tildone.stores.sqlite import schema as queries
from tildone.stores.sqlite.file import SqliteFile
from tildone.stores.sqlite.fleet_queries import query
from tildone.stores.sqlite.rows import insert_event, session_head_in
from tildone.stores.sqlite.schema import from_sql, to_sql

if TYPE_CHECKING:
    import apsw

T = TypeVar("T")


BOOT_ID = "/proc/sys/kernel/random/boot_id"
PID_NAMESPACE = "/proc/self/ns/pid"


def moment() -> Moment:
    """Return the time now. Where no such clock exists, leases are measured in milliseconds since 1970."""
    now = time.time_ns() // 1_000_000
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return Moment(now, now)
    return Moment(time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000, now, boot())


def boot() -> str:
    """Return what identifies this start of the machine, and the namespace of process ids; empty if unknown."""
    try:
        with open(BOOT_ID, encoding="ascii") as file:
            return f"{file.read().strip()}/{os.readlink(PID_NAMESPACE)}"
    except OSError:
        return ""


def is_alive(pid: int) -> bool:
    """Return whether a process of this machine exists and has not ended. If that is not known, it does."""
    if os.name == "nt":
        return True
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            # PID (NAME) STATE …; a name may contain anything.
            return not file.read().rpartition(")")[2].startswith((" Z", " X"))
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True


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


def this_machine() -> Machine:
    """Return the machine that this process runs on."""
    return Machine(moment, machine_name(), is_alive)


class SqliteLeaseTables:
    """The leases, workers, schedules and limits in a file. The calls are documented by `LeaseTables`."""

    def __init__(self, store: Store, file: SqliteFile, scribe: Scribe, machine: Machine | None = None) -> None:
        self._store = store
        self._file = file
        self._scribe = scribe
        self._machine = machine or this_machine()

    def change(self, work: Callable[[LeaseTransaction], T]) -> T:
        def transaction(connection: apsw.Connection) -> T:
            return work(
                SqliteLeaseTransaction(connection, self._file.path, self._machine, self._store.history, self._scribe)
            )

        return self._file.write(transaction)

    def rows(self, statement: str, /, **row: Any) -> list[Any]:
        with self._file as connection:
            return connection.execute(query(statement), row).fetchall()

    def write(self, statement: str, /, **row: Any) -> int:
        def change(connection: apsw.Connection) -> int:
            connection.execute(query(statement), row)
            changed = connection.changes()
            connection.execute(query("announce"))
            return changed

        return self._file.write(change)

    def timed_rows(self, statement: str, /, **row: Any) -> list[tuple[Any, int]]:
        clock = self._machine.moment().clock
        return [(columns, clock) for columns in self.rows(statement, **row)]

    def rows_of_sessions(self, sessions: Sequence[str]) -> list[tuple[Any, int]]:
        return [row for each in sessions for row in self.timed_rows("leases_of_session", session=to_sql(each))]

    def renew(self, held: Sequence[RunFence], lease: int) -> list[Any]:
        at = self._machine.moment()
        fences = dump([[fence.run, fence.hand, fence.epoch] for fence in held])
        row = {"until": at.clock + lease, "boot": at.boot, "held": fences}
        return self._file.write(lambda connection: connection.execute(query("renew_leases"), row).fetchall())

    def beat(self, row: dict[str, Any], labels: Sequence[str]) -> str:
        seen = row | {"seen": self.now(), "labels": dump(list(labels))}
        with self._file as connection:
            self._file.record_stamp_once()
            return str(connection.execute(query("worker_beat"), seen).get)

    def append(self, _held: RunFence, _fact: Kept, _event: str) -> bool:
        return False

    def session(self, stored: Any) -> str:
        return from_sql(stored)

    def now(self) -> int:
        return self._machine.moment().now

    def size(self) -> int:
        paths = (f"{self._file.path}{suffix}" for suffix in ("", "-wal", "-shm"))
        return sum(os.path.getsize(path) for path in paths if os.path.exists(path))

    def wait(self, is_reached: Callable[[], bool], timeout: float) -> bool:
        return wait_until(self._file.changed, is_reached, timeout)

    def findings(self) -> list[Finding]:
        return [Finding(Severity.OK, f"the runs are in {self._file.path}, for workers of this machine")]
