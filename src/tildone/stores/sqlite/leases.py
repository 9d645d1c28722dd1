"""The leases of a SQLite store, for workers of one machine (`tildone.stores.leasing`).

Theory of operation. Each operation is one transaction that has the write lock from its beginning, so operations never
overlap. Leases are measured by the clock that counts since the machine was started. A lease of another start, or of a
process that has ended, has lapsed at once; others lapse when their time has passed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, TypeVar

from tildone.base import TYPE_CHECKING, value
from tildone.base.json import dump
from tildone.log.kept import Finding, Severity
from tildone.log.lease_rules import Moment, why_lapsed
from tildone.log.settings import FleetSettings
from tildone.log.store import Store
from tildone.plan.events import Event, PlanChanged, SessionHead, latest_state
from tildone.plan.lists import BadRow
from tildone.plan.model import next_task
from tildone.plan.runs import Claimer, CommandRefused, Kept, Lease, RunFence
from tildone.stores.agents import has_ended, machine_name
from tildone.stores.leasing import CHANGING_COLUMNS, COLUMNS, LeaseTransaction, Recorder, lease_in
from tildone.stores.polling import wait_until
from tildone.stores.sqlite import schema as queries
from tildone.stores.sqlite.file import SqliteFile
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
    return not has_ended(pid, 0)


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
        recorder: Recorder,
    ) -> None:
        self._connection = connection
        self._path = path
        self._machine = machine
        self._history = history
        self.recorder = recorder
        self._at = machine.moment()

    @property
    def at(self) -> Moment:
        return self._at

    def lock(self, _name: str) -> None:
        """Do nothing: the transaction has the lock of the whole store."""

    def claimable(self, who: Claimer, _most: int) -> list[Lease]:
        row = {"now": self.at.now, "protocol": who.protocol, "worker": who.worker}
        row |= {"labels": dump(list(who.labels)), "quoted_worker": dump(who.worker)}
        while rows := self.rows("claimable", **row):
            columns, lease = rows[0], lease_in(rows[0], from_sql)
            if not isinstance(lease, BadRow):
                return [lease]
            self._set_aside(columns, lease)
        return []

    def within_limits(self, leases: Sequence[Lease]) -> list[Lease]:
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

    def kept(self, rows: Sequence[Sequence[Any]]) -> list[Lease]:
        return self.recorder.good(lease_in(columns, from_sql) for columns in rows)

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
        self.recorder.on_bad_row(bad)
        run, hand = columns[COLUMNS.index("run")], columns[COLUMNS.index("hand")]
        self.rows("set_aside", run=run, hand=hand)


class SqliteLeaseTables:
    """The leases, workers, schedules and limits in a file. The calls are documented by `LeaseTables`."""

    def __init__(self, store: Store, file: SqliteFile, recorder: Recorder, machine: Machine | None = None) -> None:
        self._store = store
        self._file = file
        self._recorder = recorder
        self._machine = machine or Machine(moment, machine_name(), is_alive)

    def change(self, work: Callable[[LeaseTransaction], T]) -> T:
        def transaction(connection: apsw.Connection) -> T:
            return work(
                SqliteLeaseTransaction(connection, self._file.path, self._machine, self._store.history, self._recorder)
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

    def append(self, _held: RunFence, _fact: Kept | CommandRefused, _event: str) -> bool:
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


_NAMES = {
    "COLUMNS": ", ".join(COLUMNS),
    "PARAMETERS": ", ".join(f":{name}" for name in COLUMNS),
    "IN_GROUP": "state = :state AND coalesce((owner IS NOT NULL) = :held, 1)",
    "CHANGES": ", ".join(f"{name} = :{name}" for name in CHANGING_COLUMNS),
}
"""What stands in the statements for the words in capitals: the columns of leases, and the condition of a group."""

# Those of a PostgreSQL store have the same names and parameters, as far as it has them.
_STATEMENTS = {
    "leases": "SELECT COLUMNS FROM leases WHERE run = :run ORDER BY hand",
    "lease": "SELECT COLUMNS FROM leases WHERE run = :run AND hand = :hand",
    "all_leases": "SELECT COLUMNS FROM leases WHERE coalesce(run = :run, 1) ORDER BY run, hand",
    "active_leases": "SELECT COLUMNS FROM leases WHERE state IN ('open', 'waiting', 'paused') ORDER BY run, hand",
    "owned_leases": """
SELECT COLUMNS FROM leases WHERE owner IN (SELECT value FROM json_each(:owners)) AND owner IS NOT NULL
""",
    "held_leases": "SELECT COLUMNS FROM leases WHERE owner IS NOT NULL ORDER BY run, hand",
    "session_of_run": "SELECT session FROM leases WHERE run = :run LIMIT 1",
    "active_runs": """
SELECT DISTINCT run FROM leases
WHERE session = :session AND state IN ('open', 'waiting', 'paused')
""",
    "has_repository": "SELECT 1 FROM leases WHERE repo = :repo LIMIT 1",
    "repositories": "SELECT DISTINCT repo FROM leases WHERE repo <> '' ORDER BY repo",
    # Hands of one run may work in one repository, each in a working tree of its own.
    "claimable": """
WITH held AS MATERIALIZED (
        SELECT run, repo, provider FROM leases
        WHERE owner IS NOT NULL
    ),
    used_up AS MATERIALIZED (
        SELECT name FROM providers
        WHERE runs > 0 AND (SELECT count(*) FROM held WHERE held.provider = providers.name) >= runs
    )
SELECT COLUMNS FROM leases AS queued
WHERE state = 'open' AND owner IS NULL AND not_before <= :now AND protocol <= :protocol
    AND NOT EXISTS (SELECT 1 FROM workers WHERE id = :worker AND ask = 'drain')
    AND NOT EXISTS (
        SELECT 1 FROM json_each(iif(json_valid(queued.labels), queued.labels, '[]')) AS needed
        WHERE needed.value NOT IN (SELECT value FROM json_each(:labels))
    )
    AND NOT instr(queued.refused, :quoted_worker)
    AND NOT EXISTS (SELECT 1 FROM held WHERE held.repo = queued.repo AND held.run <> queued.run)
    AND provider NOT IN (SELECT name FROM used_up)
ORDER BY priority, made, run, hand LIMIT 1
""",
    # The column `sent` is of workers of an earlier version.
    "insert_lease": "INSERT INTO leases (COLUMNS, sent) VALUES (PARAMETERS, 0)",
    "update_lease": "UPDATE leases SET CHANGES WHERE run = :run AND hand = :hand",
    "renew_leases": """
UPDATE leases SET until = :until, boot = :boot
FROM json_each(:held) AS held
WHERE run = held.value ->> 0 AND hand = held.value ->> 1 AND epoch = held.value ->> 2
    AND state = 'open' AND owner IS NOT NULL
RETURNING run, hand, epoch, ask
""",
    "set_aside": "UPDATE leases SET state = 'failed', owner = NULL WHERE run = :run AND hand = :hand",
    "forget_leases": """
DELETE FROM leases WHERE run = :run
    AND NOT EXISTS (SELECT 1 FROM leases WHERE run = :run AND state IN ('open', 'waiting', 'paused'))
""",
    "lapse_claims": "UPDATE claims SET until = 0 WHERE session = :session AND until > 0 AND instr(holder, :mark)",
    "run_sessions": """
SELECT DISTINCT session FROM events WHERE instr(body, '"fact":"run_queued"') ORDER BY session
""",
    "page_of_leases": """
SELECT COLUMNS FROM leases WHERE IN_GROUP AND (since, run, hand) < (:since, :run, :hand)
ORDER BY since DESC, run DESC, hand DESC LIMIT :limit
""",
    "asking_leases": "SELECT COLUMNS FROM leases WHERE questions <> '[]' ORDER BY run, hand",
    "leases_of_session": "SELECT COLUMNS FROM leases WHERE session = :session ORDER BY run, hand",
    "count_leases": "SELECT count(*) FROM (SELECT 1 FROM leases WHERE IN_GROUP LIMIT :limit)",
    "count_taken_over": """
SELECT count(*) FROM leases
WHERE state IN ('open', 'waiting', 'paused', 'done', 'failed', 'cancelled') AND since >= :since AND losses > 0
""",
    "recent_sessions": """
SELECT session FROM leases
WHERE state IN ('open', 'waiting', 'paused', 'done', 'failed', 'cancelled') AND since >= :since AND epoch > 0
UNION SELECT session FROM leases WHERE owner IS NOT NULL
""",
    "fleet_exists": "SELECT EXISTS (SELECT 1 FROM leases) OR EXISTS (SELECT 1 FROM workers)",
    "fleet_revision": "SELECT revision FROM fleet",
    "announce": "UPDATE fleet SET revision = iif(revision < 9000000000000000000, revision + 1, 0)",
    "fleet_settings": "SELECT lease, heartbeat, margin, reaper, renewal, engine FROM fleet",
    "configure": """
UPDATE fleet SET lease = :lease, heartbeat = :heartbeat, margin = :margin, reaper = :reaper, renewal = :renewal,
    engine = :engine
""",
    "limits": "SELECT name, runs, requests FROM providers ORDER BY name",
    "set_limit": """
INSERT INTO providers (name, runs, requests, earliest) VALUES (:name, :runs, :requests, 0)
ON CONFLICT (name) DO UPDATE SET runs = excluded.runs, requests = excluded.requests
""",
    "remove_limit": "DELETE FROM providers WHERE name = :name",
    "requests": "SELECT requests, earliest FROM providers WHERE name = :name",
    "set_next_request": "UPDATE providers SET earliest = :earliest WHERE name = :name",
    "worker_beat": """
INSERT INTO workers (id, host, pid, version, protocol, slots, labels, seen, ask)
VALUES (:id, :host, :pid, :version, :protocol, :slots, :labels, :seen, '')
ON CONFLICT (id) DO UPDATE SET version = excluded.version, protocol = excluded.protocol, slots = excluded.slots,
    labels = excluded.labels, seen = excluded.seen
RETURNING ask
""",
    "worker_leave": "DELETE FROM workers WHERE id = :id",
    "workers": "SELECT id, host, pid, version, protocol, slots, labels, seen, ask FROM workers ORDER BY id",
    "drain": "UPDATE workers SET ask = 'drain' WHERE id = :id",
    "schedules": "SELECT name, cron, plan, next, work, zone, last FROM schedules ORDER BY name",
    "due": """
SELECT name, cron, plan, next, work, zone, last FROM schedules
WHERE next <= :now ORDER BY next, name LIMIT 1
""",
    "set_schedule": """
INSERT OR REPLACE INTO schedules (name, cron, plan, next, work, zone, last)
VALUES (:name, :cron, :plan, :next, :work, :zone, :last)
""",
    "set_schedule_aside": "UPDATE schedules SET next = 9000000000000000000 WHERE name = :name",
    "unschedule": "DELETE FROM schedules WHERE name = :name",
}


@cache
def query(name: str) -> str:
    statement = _STATEMENTS[name]
    for word, names in _NAMES.items():
        statement = statement.replace(word, names)
    return statement
