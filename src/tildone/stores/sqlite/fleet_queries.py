"""The SQL statements on leases, workers, schedules and limits."""

from __future__ import annotations

from tildone.stores.lease_rows import CHANGING_COLUMNS, COLUMNS

_NAMES = {
    "COLUMNS": ", ".join(COLUMNS),
    "PARAMETERS": ", ".join(f":{name}" for name in COLUMNS),
    "IN_GROUP": "state = :state AND coalesce((owner IS NOT NULL) = :held, 1)",
    "CHANGES": ", ".join(f"{name} = :{name}" for name in CHANGING_COLUMNS),
}


def _with_columns(statement: str) -> str:
    """Put the columns of leases, and the condition of a group, into a statement in place of the words in capitals."""
    for word, names in _NAMES.items():
        statement = statement.replace(word, names)
    return statement


LEASES = _with_columns("SELECT COLUMNS FROM leases WHERE run = ? ORDER BY hand")
LEASE = _with_columns("SELECT COLUMNS FROM leases WHERE run = ? AND hand = ?")
ALL_LEASES = _with_columns("SELECT COLUMNS FROM leases WHERE coalesce(run = :run, 1) ORDER BY run, hand")
ACTIVE_LEASES = _with_columns(
    "SELECT COLUMNS FROM leases WHERE state IN ('open', 'waiting', 'paused') ORDER BY run, hand"
)
OWNED_LEASES = _with_columns(
    "SELECT COLUMNS FROM leases WHERE owner IN (SELECT value FROM json_each(?)) AND owner IS NOT NULL"
)
HELD_LEASES = _with_columns("SELECT COLUMNS FROM leases WHERE owner IS NOT NULL")
SENT_LEASES = _with_columns(
    "SELECT COLUMNS FROM leases WHERE state = 'open' AND owner IS NULL AND sent ORDER BY run, hand"
)
SESSION_OF_RUN = "SELECT session FROM leases WHERE run = ? LIMIT 1"
ACTIVE_RUNS = "SELECT DISTINCT run FROM leases WHERE session = ? AND state IN ('open', 'waiting', 'paused')"
HAS_REPOSITORY = "SELECT 1 FROM leases WHERE repo = ? LIMIT 1"
REPOSITORIES = "SELECT DISTINCT repo FROM leases WHERE repo <> '' ORDER BY repo"

# Hands of one run may work in one repository, each in a working tree of its own. With `unsent`, what an engine has
# counts as held.
CLAIMABLE = _with_columns("""
WITH held AS MATERIALIZED (
        SELECT run, repo, provider FROM leases
        WHERE owner IS NOT NULL OR (:unsent AND sent AND state = 'open')
    ),
    used_up AS MATERIALIZED (
        SELECT name FROM providers
        WHERE runs > 0 AND (SELECT count(*) FROM held WHERE held.provider = providers.name) >= runs
    )
SELECT COLUMNS FROM leases AS queued
WHERE state = 'open' AND owner IS NULL AND not_before <= :now AND protocol <= :protocol
    AND coalesce(run = :run AND hand = :hand, 1) AND NOT (:unsent AND sent)
    AND NOT EXISTS (SELECT 1 FROM workers WHERE id = :worker AND ask = 'drain')
    AND NOT EXISTS (
        SELECT 1 FROM json_each(iif(json_valid(queued.labels), queued.labels, '[]')) AS needed
        WHERE needed.value NOT IN (SELECT value FROM json_each(:labels))
    )
    AND NOT instr(queued.refused, :quoted_worker)
    AND NOT EXISTS (SELECT 1 FROM held WHERE held.repo = queued.repo AND held.run <> queued.run)
    AND provider NOT IN (SELECT name FROM used_up)
ORDER BY priority, made, run, hand LIMIT 1
""")

INSERT_LEASE = _with_columns("INSERT INTO leases (COLUMNS) VALUES (PARAMETERS)")
UPDATE_LEASE = _with_columns("UPDATE leases SET CHANGES WHERE run = :run AND hand = :hand")
RENEW_LEASES = """
UPDATE leases SET until = :until, boot = :boot
FROM json_each(:held) AS held
WHERE run = held.value ->> 0 AND hand = held.value ->> 1 AND epoch = held.value ->> 2
    AND state = 'open' AND owner IS NOT NULL
RETURNING run, hand, epoch, ask
"""
FAIL_LEASE = "UPDATE leases SET state = 'failed', owner = NULL WHERE run = ? AND hand = ?"
FORGET_LEASES = """
DELETE FROM leases WHERE run = :run
    AND NOT EXISTS (SELECT 1 FROM leases WHERE run = :run AND state IN ('open', 'waiting', 'paused'))
"""
LAPSE_CLAIMS = "UPDATE claims SET until = 0 WHERE session = ? AND until > 0 AND instr(holder, ?)"
RUN_SESSIONS = """
SELECT DISTINCT session FROM events WHERE instr(body, '"fact":"run_queued"') ORDER BY session
"""

PAGE_OF_LEASES = _with_columns("""
SELECT COLUMNS FROM leases WHERE IN_GROUP AND (since, run, hand) < (:since, :run, :hand)
ORDER BY since DESC, run DESC, hand DESC LIMIT :limit
""")
ALL_HELD = f"{HELD_LEASES} ORDER BY run, hand"
ASKING_LEASES = _with_columns("SELECT COLUMNS FROM leases WHERE questions <> '[]' ORDER BY run, hand")
LEASES_OF_SESSION = _with_columns("SELECT COLUMNS FROM leases WHERE session = ? ORDER BY run, hand")
COUNT_LEASES = _with_columns("SELECT count(*) FROM (SELECT 1 FROM leases WHERE IN_GROUP LIMIT :limit)")
COUNT_TAKEN_OVER = """
SELECT count(*) FROM leases
WHERE state IN ('open', 'waiting', 'paused', 'done', 'failed', 'cancelled') AND since >= ? AND losses > 0
"""
RECENT_SESSIONS = """
SELECT session FROM leases
WHERE state IN ('open', 'waiting', 'paused', 'done', 'failed', 'cancelled') AND since >= ? AND epoch > 0
UNION SELECT session FROM leases WHERE owner IS NOT NULL
"""
FLEET_EXISTS = "SELECT EXISTS (SELECT 1 FROM leases) OR EXISTS (SELECT 1 FROM workers)"

FLEET_REVISION = "SELECT revision FROM fleet"
ANNOUNCE = "UPDATE fleet SET revision = iif(revision < 9000000000000000000, revision + 1, 0)"
FLEET_SETTINGS = "SELECT lease, heartbeat, margin, reaper, renewal, engine FROM fleet"
SET_FLEET_SETTINGS = "UPDATE fleet SET lease = ?, heartbeat = ?, margin = ?, reaper = ?, renewal = ?, engine = ?"

LIMITS = "SELECT name, runs, requests FROM providers ORDER BY name"
SET_LIMIT = """
INSERT INTO providers (name, runs, requests, earliest) VALUES (?, ?, ?, 0)
ON CONFLICT (name) DO UPDATE SET runs = excluded.runs, requests = excluded.requests
"""
REMOVE_LIMIT = "DELETE FROM providers WHERE name = ?"
REQUESTS = "SELECT requests, earliest FROM providers WHERE name = ?"
SET_NEXT_REQUEST = "UPDATE providers SET earliest = ? WHERE name = ?"

BEAT = """
INSERT INTO workers (id, host, pid, version, protocol, slots, labels, seen, ask)
VALUES (:id, :host, :pid, :version, :protocol, :slots, :labels, :seen, '')
ON CONFLICT (id) DO UPDATE SET version = excluded.version, protocol = excluded.protocol, slots = excluded.slots,
    labels = excluded.labels, seen = excluded.seen
RETURNING ask
"""
LEAVE = "DELETE FROM workers WHERE id = ?"
WORKERS = "SELECT id, host, pid, version, protocol, slots, labels, seen, ask FROM workers ORDER BY id"
DRAIN = "UPDATE workers SET ask = 'drain' WHERE id = ?"

SCHEDULES = "SELECT name, cron, plan, next, work, zone, last FROM schedules ORDER BY name"
DUE = "SELECT name, cron, plan, next, work, zone, last FROM schedules WHERE next <= ? ORDER BY next, name LIMIT 1"
SET_SCHEDULE = """
INSERT OR REPLACE INTO schedules (name, cron, plan, next, work, zone, last) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
STOP_SCHEDULE = "UPDATE schedules SET next = 9000000000000000000 WHERE name = ?"
UNSCHEDULE = "DELETE FROM schedules WHERE name = ?"
