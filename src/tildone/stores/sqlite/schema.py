"""The schema of a SQLite store: its SQL statements, recognising a file as a store, creating and migrating it.

`application_id` identifies a file as a tildone store, `user_version` is the version of its schema. The migrations in
`migrations/*.sql` run in one transaction: of several processes that try at once, the first one makes the changes. An
older tildone refuses a newer schema.
"""

from __future__ import annotations

import os
from time import monotonic, sleep

import apsw

from tildone.base import TYPE_CHECKING, NotFound, RunFenced, StoreBusy, StoreDamaged, StoreError, StoreTooNew

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from tildone.plan.runs import RunFence

    Stamp = tuple[int, int, int, int]


SESSION_HEAD = "SELECT head, ahead, head_check = quote(name) || quote(head) || ahead FROM sessions WHERE name = ?"
HEAD = "SELECT head FROM sessions WHERE name = ?"
SESSIONS = "SELECT name, events, created, updated FROM sessions ORDER BY newest DESC"
SESSION_INFO = "SELECT name, events, created, updated FROM sessions WHERE name = ?"

EVENT = "SELECT body, crc FROM events WHERE session = ? AND id = ?"
EVENT_EXISTS = "SELECT 1 FROM events WHERE session = ? AND id = ?"
EVENT_NUMBERS = "SELECT seq FROM events WHERE session = ? ORDER BY seq"
EVENT_COUNT = "SELECT events FROM sessions WHERE name = ?"
# Both count in one snapshot, so that a session that is created or deleted at this moment is no mismatch.
MISCOUNTED = """
SELECT coalesce((SELECT events FROM sessions WHERE name = ?1), 0) != (SELECT count(*) FROM events WHERE session = ?1)
"""
# The unary plus keeps the planner from scanning the session's index instead of looking up the given numbers.
EVENTS_BY_NUMBER = (
    "SELECT body, crc FROM events WHERE seq IN (SELECT value FROM json_each(?)) AND +session = ? ORDER BY seq"
)
LEAVES = """
SELECT id FROM events WHERE session = :session AND id NOT IN
    (SELECT parent FROM events WHERE session = :session AND parent IS NOT NULL)
ORDER BY seq
"""

APPEND = "INSERT INTO events (session, id, parent, at, body, crc) VALUES (?, ?, ?, ?, ?, ?)"
APPEND_SEEN = "INSERT INTO seen_events (session, id, parent, at, body, crc, reader) VALUES (?, ?, ?, ?, ?, ?, ?)"
MOVE_HEAD = "UPDATE sessions SET head = ?1, ahead = ?2, head_check = quote(name) || quote(?1) || ?2 WHERE name = ?3"
DELETE_SESSION = (
    "DELETE FROM events WHERE session = ?",
    "DELETE FROM seen WHERE session = ?",
    "DELETE FROM presence WHERE session = ?",
    "DELETE FROM needs WHERE session = ?",
    "DELETE FROM claims WHERE session = ?",
    "DELETE FROM summaries WHERE session = ?",
    "DELETE FROM leases WHERE session = ?",
    "DELETE FROM sessions WHERE name = ?",
)

SEEN = "SELECT head FROM seen WHERE session = ? AND reader = ?"
DELETE_SEEN = "DELETE FROM seen WHERE session = :session AND reader = :reader"
SET_SEEN = """
INSERT INTO seen (session, reader, head) SELECT name, :reader, :head FROM sessions WHERE name = :session
ON CONFLICT (session, reader) DO UPDATE SET head = excluded.head WHERE seen.head IS NOT excluded.head
"""

REVISION = "SELECT coalesce(max(revision), 0) FROM changes"
# A revision that the store has not reached is one of another store: all sessions have changed since.
CHANGED = """
SELECT changes.session, sessions.head, changes.revision, sessions.name IS NOT NULL
FROM changes LEFT JOIN sessions ON sessions.name = changes.session
WHERE changes.revision > CASE WHEN :since <= (SELECT max(revision) FROM changes) THEN :since ELSE 0 END
ORDER BY changes.revision
"""
FORGET_DELETIONS = """
DELETE FROM changes
WHERE revision <= (SELECT max(revision) FROM changes) - 10000 AND session NOT IN (SELECT name FROM sessions)
"""

REVISE = """
INSERT INTO changes (revision, session) VALUES ((SELECT coalesce(max(revision), 0) + 1 FROM changes), ?)
ON CONFLICT (session) DO UPDATE SET revision = excluded.revision
"""

PRESENCES = "SELECT body FROM presence"
PRESENCE_EXISTS = "SELECT 1 FROM presence WHERE agent = ?"
SET_PRESENCE = "INSERT OR REPLACE INTO presence (agent, session, beat, body) VALUES (?, ?, ?, ?)"
DELETE_PRESENCE = "DELETE FROM presence WHERE agent = ?"
DELETE_OLD_PRESENCES = "DELETE FROM presence WHERE beat < ?"

NEED = "SELECT body FROM needs WHERE id = ?"
OPEN_NEEDS = "SELECT body FROM needs WHERE answered_at = 0"
ADD_NEED = "INSERT OR IGNORE INTO needs (id, session, since, answered_at, body) VALUES (?, ?, ?, ?, ?)"
ANSWER_NEED = "UPDATE needs SET answered_at = ?, body = ? WHERE id = ?"
WITHDRAW_NEED = "DELETE FROM needs WHERE id = ? AND answered_at = 0 RETURNING session"
DELETE_OLD_ANSWERS = """
DELETE FROM needs WHERE answered_at > 0 AND (answered_at < ?1 OR id IN
    (SELECT id FROM needs WHERE answered_at > 0 ORDER BY answered_at DESC, id DESC LIMIT -1 OFFSET ?2))
"""
DELETE_OLD_NEEDS = """
DELETE FROM needs WHERE id IN
    (SELECT id FROM needs WHERE answered_at = 0 ORDER BY since DESC, id DESC LIMIT -1 OFFSET ?)
"""

CLAIMS = """
SELECT task, epoch, until, holder, before FROM claims AS claim WHERE session = ? AND until >= 0
    AND epoch = (SELECT max(epoch) FROM claims WHERE session = claim.session AND task = claim.task)
"""
HAS_CLAIMS = "SELECT 1 FROM claims WHERE session = ? AND agent = ? AND until >= 0 LIMIT 1"
CLAIMS_OF = """
SELECT task, epoch, until, holder, before FROM claims WHERE session = :session AND task IN (
    SELECT value FROM json_each(:tasks)
    UNION SELECT task FROM claims WHERE session = :session AND agent = :agent AND until >= 0
)
"""
SET_CLAIM = """
INSERT OR REPLACE INTO claims (session, task, epoch, agent, until, holder, before) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
DELETE_CLAIM = "DELETE FROM claims WHERE session = ? AND task = ? AND epoch = ?"

SUMMARIES = "SELECT session, head, body FROM summaries"
KEEP_SUMMARY = """
INSERT INTO summaries (head, body, session) SELECT ?1, ?2, name FROM sessions WHERE name = ?3
ON CONFLICT (session) DO UPDATE SET head = excluded.head, body = excluded.body
"""

HOLDS = """
SELECT 1 FROM leases WHERE run = ? AND hand = ? AND epoch = ? AND state = 'open' AND owner IS NOT NULL
"""

DENSITY = """
SELECT (at - :begin) * :buckets / (:end - :begin) AS bucket, count(*) FROM events
WHERE session = :session AND at >= :begin AND at < :end GROUP BY bucket
"""

STAMP = "SELECT size, written FROM mark"
RECORD_STAMP = "UPDATE mark SET size = :size, written = :written WHERE size != :size OR written != :written"

ALL_EVENTS = "SELECT session, id, parent, at, body, crc FROM events ORDER BY seq"
COUNT_EVENTS = "SELECT count(*) FROM events"
ALL_SESSIONS = """
SELECT name, head, ahead, events, created, updated, newest, head_check = quote(name) || quote(head) || ahead
FROM sessions
"""
TOTALS = "SELECT count(*), (SELECT count(*) FROM events) FROM sessions"
EVENTS_OF_SESSION = "SELECT count(*), min(seq), max(seq) FROM events WHERE session = ?"
TIME_OF_EVENT = "SELECT at FROM events WHERE seq = ?"
ORPHANED_EVENTS = """
SELECT session, id, parent FROM events AS child WHERE parent IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM events WHERE session = child.session AND id = child.parent AND seq < child.seq)
"""
EVENTS_WITHOUT_SESSION = "SELECT DISTINCT session FROM events WHERE session NOT IN (SELECT name FROM sessions)"

# What each schema added to the one before, for a connection that must not migrate the file.
READ_OLDER_SCHEMAS = {
    1: """
CREATE TEMP VIEW events AS SELECT *, NULL AS crc FROM main.events;
CREATE TEMP VIEW mark AS SELECT 0 AS size, 0 AS written
""",
    2: "CREATE TEMP VIEW seen AS SELECT NULL AS session, NULL AS reader, NULL AS head",
    3: """
CREATE TEMP VIEW sessions AS SELECT *, quote(name) || quote(head) || ahead AS head_check FROM main.sessions
""",
    4: "CREATE TEMP VIEW changes AS SELECT newest AS revision, name AS session FROM main.sessions",
    5: """
CREATE TEMP VIEW presence AS SELECT NULL AS body WHERE 0;
CREATE TEMP VIEW needs AS SELECT NULL AS id, NULL AS answered_at, NULL AS body WHERE 0;
CREATE TEMP VIEW summaries AS SELECT NULL AS session, NULL AS head, NULL AS body WHERE 0
""",
    6: """
CREATE TEMP VIEW claims AS
    SELECT NULL AS session, 0 AS task, 0 AS epoch, 0 AS until, NULL AS agent, '' AS holder, '' AS before WHERE 0
""",
    7: """
CREATE TEMP VIEW leases (
    run, hand, session, state, owner, ask, questions, refused, epoch, attempt, until, boot, not_before, fails,
    losses, task, made, since, repo, provider, labels, priority, agent, model, allow, ref, protocol
) AS SELECT 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 WHERE 0;
CREATE TEMP VIEW workers (id, host, pid, version, protocol, slots, labels, seen, ask) AS
    SELECT 0, 0, 0, 0, 0, 0, 0, 0, 0 WHERE 0;
CREATE TEMP VIEW schedules (name, cron, plan, next, work, zone, last) AS SELECT 0, 0, 0, 0, 0, 0, 0 WHERE 0;
CREATE TEMP VIEW providers (name, runs, requests, earliest) AS SELECT 0, 0, 0, 0 WHERE 0;
CREATE TEMP VIEW fleet (revision, lease, heartbeat, margin, reaper, renewal, engine) AS
    SELECT 0, 60000, 20000, 5000, 2000, 5000, ''
""",
}


LOCKS = "/proc/locks"
_ACCESS, _PID, _FILE = 3, 4, 5
"""Positions in a line of `/proc/locks` (proc(5))."""


def damaged(path: str, why: object) -> StoreDamaged:
    """Return the error that says that a store is damaged, and what to do."""
    return StoreDamaged(f"{path} is damaged: {why}; to check all of it: tildone doctor")


def store_error(error: apsw.Error | UnicodeDecodeError, path: str) -> StoreError:
    match error:
        case apsw.BusyError() | apsw.LockedError() | apsw.ProtocolError():
            return StoreBusy(f"{path} is in use by another process{_holder(path)}, for longer than we wait")
        case apsw.NotADBError():
            return StoreDamaged(f"{path} is not a tildone store")
        case apsw.CorruptError() | apsw.SQLError():
            return damaged(path, error)
        case UnicodeDecodeError():
            return damaged(path, "it contains text that is not UTF-8")
        case apsw.FullError():
            return StoreError(f"{path} can't grow: the disk is full")
        case apsw.ReadOnlyError():
            return StoreError(f"{path} can't be written: it is read-only")
        case apsw.CantOpenError():
            reason = "it is a directory" if os.path.isdir(path) else str(error)
            return StoreError(f"cannot open {path}: {reason}")
        case _:
            return StoreError(f"{path}: {error}")


def _holder(path: str) -> str:
    """Return the process that holds a lock on the database, in parentheses; empty if that cannot be determined."""
    try:
        inodes = {str(os.stat(name).st_ino) for name in (path, f"{path}-shm") if os.path.exists(name)}
        with open(LOCKS, encoding="ascii") as file:
            locks = [line.split() for line in file]
    except (OSError, ValueError):
        return ""
    # NUMBER: TYPE MODE ACCESS PID MAJOR:MINOR:INODE START END; a lock that is waited for has an arrow after its number.
    held = [words for words in locks if len(words) > _FILE and words[_FILE].rpartition(":")[2] in inodes]
    writers = [words[_PID] for words in held if words[_ACCESS] == "WRITE" and words[_PID] != str(os.getpid())]
    return f" ({writers[0]})" if writers else ""


SCHEMA_VERSION = 8
FIRST_VERSION_WITH_MARK = 2
APPLICATION_ID = 0x746C646E  # "tldn"
HEAD_MOVED = "the head moved"  # the message of a trigger in the schema
MIGRATIONS = os.path.join(os.path.dirname(__file__), "migrations")

_SQLITE_MAGIC = b"SQLite format 3\0"
_RETRY_SECONDS = 0.005


class Transaction:
    """`with Transaction(connection)`: a write transaction. Other writers wait until it ends.

    With a `fence`, it begins only while the lease of that run is held. apsw's own `with connection` would block every
    thread of the process while it waits for the lock. Raises RunFenced if the run has passed to another worker, or has
    ended.
    """

    def __init__(self, connection: apsw.Connection, fence: RunFence | None = None) -> None:
        self._connection = connection
        self._fence = fence

    def __enter__(self) -> None:
        # A transaction that reads first and writes later may fail at once with SQLITE_BUSY, whatever the timeout.
        self._connection.execute("BEGIN IMMEDIATE")
        fence = self._fence
        if fence and not self._connection.execute(HOLDS, (fence.run, fence.hand, fence.epoch)).get:
            self._connection.execute("ROLLBACK")
            raise RunFenced(fence.run)

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


def opened_or_created(path: str) -> apsw.Connection:
    """Open the file at `path`; without one, create it and its folder. Only the user can read what is created.

    SQLite gives the files that it adds the permissions of this one.
    """
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    except apsw.CantOpenError:
        # If the file exists now, another process has created it since.
        if not os.path.exists(path):
            # Late, because nearly every store exists.
            from tildone.base.private import make_private_folder, open_private

            make_private_folder(os.path.dirname(path))
            os.close(open_private(path, os.O_RDWR | os.O_CREAT))
        return apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    if connection.readonly("main"):
        # SQLite opens a file only for reading if the first attempt fails. The reason may be that the file did not exist
        # yet, and another process created it before SQLite's second attempt.
        connection.close()
        return apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    return connection


def page_counter(pages: list[int]) -> Callable[[apsw.Connection, str, int], int]:
    """Return a WAL hook that stores the log's page count in `pages`. A reference to the file would be a cycle."""

    def committed(_connection: apsw.Connection, _name: str, count: int) -> int:
        pages[0] = count
        return apsw.SQLITE_OK

    return committed


def schema_version(connection: apsw.Connection, path: str) -> int:
    """Return the schema version of a store.

    Raises StoreDamaged if the file is not a store, StoreTooNew if a newer tildone wrote it.
    """
    return _checked_version(*_version_and_application(connection), path)


def migrate(connection: apsw.Connection, path: str, timeout: float, *, had_log: bool) -> None:
    """Make the file a store of the current schema: create one in an empty file, migrate an older one.

    If the file had no log when it was opened (`had_log`), its current stamp can be recorded. Raises StoreDamaged if the
    file is not a store, StoreTooNew if a newer tildone wrote it.
    """
    version, application = _version_and_application(connection)
    if not version:
        if not application and _is_empty(connection):
            _create(connection, path, timeout)
        # Read again even if not empty: another process may have created the store since.
        version, application = _version_and_application(connection)
    if _checked_version(version, application, path) < SCHEMA_VERSION:
        with Transaction(connection):
            version = schema_version(connection, path)
            _run_migrations(connection, version)
            if not had_log or version < FIRST_VERSION_WITH_MARK:
                record_stamp(connection, path)
    if connection.execute("PRAGMA journal_mode").get != "wal":
        try:
            # The store was replaced by a backup, and backups are not in WAL mode.
            _enable_wal(connection, timeout)
        except apsw.ReadOnlyError:
            return


def prepare_reading(connection: apsw.Connection, path: str) -> None:
    """Check that the file is a store, and set the connection up to read it. An older schema is read as it is.

    Raises:
        NotFound: the file is empty, as it is while another process creates a store in it.
        StoreDamaged: the file is not a store.
        StoreTooNew: a newer tildone wrote it.
    """
    if _version_and_application(connection) == (0, 0) and _is_empty(connection):
        raise NotFound(f"there is no store at {path} yet")
    for version in range(schema_version(connection, path), SCHEMA_VERSION):
        connection.execute(READ_OLDER_SCHEMAS[version])
    connection.execute("PRAGMA query_only = 1")


def to_sql(text: str | None) -> str | bytes | None:
    """Return text as SQLite can store it: as bytes if a lone surrogate cannot be encoded in UTF-8."""
    if text is None or text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def from_sql(stored: object) -> str:
    """Reverse `to_sql`. A value of another type, which only a damaged store contains, becomes its `str`."""
    return stored.decode("utf-8", "surrogatepass") if isinstance(stored, bytes) else str(stored)


def record_stamp(connection: apsw.Connection, path: str) -> Stamp | None:
    """Record the stamp of the file, inside a transaction, and return it."""
    stamp = stamp_of(path)
    if stamp is not None:
        connection.execute(RECORD_STAMP, {"size": stamp[2], "written": stamp[3]})
    return stamp


def stamp_of(path: str) -> Stamp | None:
    """Return device, inode, size and modification time (ns) of the file at `path`; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def has_log(path: str) -> bool:
    try:
        return os.stat(f"{path}-wal").st_size > 0
    except (OSError, ValueError):
        return False


def is_foreign_database(path: str) -> bool:
    """Return whether the header of a file identifies it as a SQLite database of another program."""
    try:
        with open(path, "rb") as file:
            header = file.read(72)
    except OSError:
        return False
    return header.startswith(_SQLITE_MAGIC) and header[68:72] != APPLICATION_ID.to_bytes(4, "big")


def migrations() -> list[str]:
    texts = []
    for name in sorted(os.listdir(MIGRATIONS)):
        with open(os.path.join(MIGRATIONS, name), encoding="utf-8") as file:
            texts.append(file.read())
    return texts


def _create(connection: apsw.Connection, path: str, timeout: float) -> None:
    """Create a store in an empty file. Several processes may try at once."""
    _enable_wal(connection, timeout)
    with Transaction(connection):
        if _is_empty(connection):
            _run_migrations(connection, 0)
            record_stamp(connection, path)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _run_migrations(connection: apsw.Connection, version: int) -> None:
    for migration in migrations()[version:SCHEMA_VERSION]:
        connection.execute(migration)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _version_and_application(connection: apsw.Connection) -> tuple[int, int]:
    """Return `user_version` and `application_id`.

    The order matters: if another process creates the store between the two reads, the file still looks like a store.
    """
    return connection.execute("PRAGMA user_version").get, connection.execute("PRAGMA application_id").get


def _checked_version(version: int, application: int, path: str) -> int:
    if application != APPLICATION_ID:
        raise StoreDamaged(f"{path} is not a tildone store")
    if version < 1:
        raise damaged(path, f"it has schema {version}")
    if version > SCHEMA_VERSION:
        raise StoreTooNew(
            f"{path} was written by a newer tildone: it has schema {version}, "
            f"this one supports up to {SCHEMA_VERSION}; upgrade tildone"
        )
    return version


def _is_empty(connection: apsw.Connection) -> bool:
    return not connection.execute("SELECT * FROM sqlite_schema LIMIT 1").get


def _enable_wal(connection: apsw.Connection, timeout: float) -> None:
    """Switch to WAL mode. SQLite does not apply its busy timeout here, so this polls."""
    until = monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except apsw.BusyError:
            if monotonic() > until:
                raise
            sleep(_RETRY_SECONDS)
