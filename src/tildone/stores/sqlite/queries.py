"""Every SQL statement of the SQLite store, except migrations and the fast path of hooks.

They are constants, not a file of SQL: reading and splitting a file would take longer than a hook's query.
"""

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
    run, hand, session, state, sent, owner, ask, questions, refused, epoch, attempt, until, boot, not_before, fails,
    losses, task, made, since, repo, provider, labels, priority, agent, model, allow, ref, protocol
) AS SELECT 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 WHERE 0;
CREATE TEMP VIEW workers (id, host, pid, version, protocol, slots, labels, seen, ask) AS
    SELECT 0, 0, 0, 0, 0, 0, 0, 0, 0 WHERE 0;
CREATE TEMP VIEW schedules (name, cron, plan, next, work, zone, last) AS SELECT 0, 0, 0, 0, 0, 0, 0 WHERE 0;
CREATE TEMP VIEW providers (name, runs, requests, earliest) AS SELECT 0, 0, 0, 0 WHERE 0;
CREATE TEMP VIEW fleet (revision, lease, heartbeat, margin, reaper, renewal, engine) AS
    SELECT 0, 60000, 20000, 5000, 2000, 5000, ''
""",
}
