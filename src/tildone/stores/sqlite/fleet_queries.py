"""The SQL statements on leases, workers, schedules and limits."""

from __future__ import annotations

from tildone.stores.lease_transaction import CHANGING_COLUMNS, COLUMNS

_NAMES = {
    "COLUMNS": ", ".join(COLUMNS),
    "PARAMETERS": ", ".join(f":{name}" for name in COLUMNS),
    "IN_GROUP": "state = :state AND coalesce((owner IS NOT NULL) = :held, 1)",
    "CHANGES": ", ".join(f"{name} = :{name}" for name in CHANGING_COLUMNS),
}


def query(name: str) -> str:
    """Return a statement. Those of a PostgreSQL store have the same names and parameters, as far as it has them."""
    return _QUERIES[name]


def _with_columns(statement: str) -> str:
    """Put the columns of leases, and the condition of a group, into a statement in place of the words in capitals."""
    for word, names in _NAMES.items():
        statement = statement.replace(word, names)
    return statement


_STATEMENTS = {
    "leases": "SELECT COLUMNS FROM leases WHERE run = :run ORDER BY hand",
    "lease": "SELECT COLUMNS FROM leases WHERE run = :run AND hand = :hand",
    "all_leases": "SELECT COLUMNS FROM leases WHERE coalesce(run = :run, 1) ORDER BY run, hand",
    "active_leases": "SELECT COLUMNS FROM leases WHERE state IN ('open', 'waiting', 'paused') ORDER BY run, hand",
    "owned_leases": """
SELECT COLUMNS FROM leases WHERE owner IN (SELECT value FROM json_each(:owners)) AND owner IS NOT NULL
""",
    "held_leases": "SELECT COLUMNS FROM leases WHERE owner IS NOT NULL ORDER BY run, hand",
    "sent_leases": "SELECT COLUMNS FROM leases WHERE state = 'open' AND owner IS NULL AND sent ORDER BY run, hand",
    "session_of_run": "SELECT session FROM leases WHERE run = :run LIMIT 1",
    "active_runs": """
SELECT DISTINCT run FROM leases
WHERE session = :session AND state IN ('open', 'waiting', 'paused')
""",
    "has_repository": "SELECT 1 FROM leases WHERE repo = :repo LIMIT 1",
    "repositories": "SELECT DISTINCT repo FROM leases WHERE repo <> '' ORDER BY repo",
    # Hands of one run may work in one repository, each in a working tree of its own. With `unsent`, what an engine has
    # counts as held.
    "claimable": """
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
""",
    "insert_lease": "INSERT INTO leases (COLUMNS) VALUES (PARAMETERS)",
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

_QUERIES = {name: _with_columns(statement) for name, statement in _STATEMENTS.items()}
