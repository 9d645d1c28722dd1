-- Every query on leases, workers, schedules and limits, by name. COLUMNS stands for the columns of a lease, without its
-- session, whose full name is read in its place. CONTEXT stands for what a change of the lease needs besides: the time, and the
-- head of its session, with the event of a shortened id, which contains the full one.

-- name: clock
SELECT tildone.clock()

-- name: lock_name
SELECT pg_advisory_xact_lock(1953260656, hashtext(%(name)s))  -- "tldp"

-- name: fleet_settings
SELECT lease, heartbeat, margin, reaper, renewal, engine FROM tildone.fleet

-- name: fleet_server
SELECT coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false),
    inet_client_addr() IS NULL OR inet_client_addr() <<= inet '127.0.0.0/8' OR inet_client_addr() = inet '::1'
        OR inet_client_addr() = inet_server_addr(),
    has_table_privilege('tildone.leases', 'INSERT') AND has_table_privilege('tildone.leases', 'UPDATE')
        AND has_table_privilege('tildone.leases', 'DELETE'),
    pg_is_in_recovery(),
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint

-- name: configure
UPDATE tildone.fleet SET lease = %(lease)s, heartbeat = %(heartbeat)s, margin = %(margin)s, reaper = %(reaper)s,
    renewal = %(renewal)s, engine = %(engine)s

-- name: fleet_revision
SELECT mod(coalesce(sum(revision), 0), 9000000000000000000)::bigint FROM tildone.announcements

-- name: announce
SELECT tildone.announce()

-- name: leases
SELECT COLUMNS, CONTEXT FROM tildone.leases l LEFT JOIN tildone.sessions s ON s.name = l.session
WHERE l.run = %(run)s ORDER BY l.hand FOR UPDATE OF l

-- name: lease
SELECT COLUMNS, CONTEXT FROM tildone.leases l LEFT JOIN tildone.sessions s ON s.name = l.session
WHERE l.run = %(run)s AND l.hand = %(hand)s FOR UPDATE OF l

-- name: owned_leases
SELECT COLUMNS, CONTEXT FROM tildone.leases l LEFT JOIN tildone.sessions s ON s.name = l.session
WHERE l.owner = ANY (%(owners)s::text[]) AND l.state = 'open' FOR UPDATE OF l

-- name: all_leases
SELECT COLUMNS, tildone.clock() FROM tildone.leases l LEFT JOIN tildone.sessions s ON s.name = l.session
WHERE %(run)s::text IS NULL OR l.run = %(run)s ORDER BY l.run, l.hand

-- name: page_of_leases
SELECT COLUMNS, tildone.clock() FROM tildone.leases l LEFT JOIN tildone.sessions s ON s.name = l.session
WHERE l.state = %(state)s AND (%(held)s::boolean IS NULL OR (l.owner IS NOT NULL) = %(held)s)
    AND (l.since, l.run, l.hand) < (%(since)s, %(run)s, %(hand)s)
ORDER BY l.since DESC, l.run DESC, l.hand DESC LIMIT %(limit)s

-- name: held_leases
SELECT COLUMNS, tildone.clock() FROM tildone.leases l LEFT JOIN tildone.sessions s ON s.name = l.session
WHERE l.state = 'open' AND l.owner IS NOT NULL ORDER BY l.run, l.hand

-- name: asking_leases
SELECT COLUMNS, tildone.clock() FROM tildone.leases l LEFT JOIN tildone.sessions s ON s.name = l.session
WHERE l.questions <> '[]' ORDER BY l.run, l.hand

-- name: leases_of_sessions
SELECT COLUMNS, tildone.clock() FROM tildone.leases l LEFT JOIN tildone.sessions s ON s.name = l.session
WHERE l.session = ANY (%(sessions)s::text[]) ORDER BY l.run, l.hand

-- name: count_leases
SELECT count(*) FROM (
    SELECT FROM tildone.leases l
    WHERE l.state = %(state)s AND (%(held)s::boolean IS NULL OR (l.owner IS NOT NULL) = %(held)s) LIMIT %(limit)s
) AS counted

-- name: count_taken_over
SELECT count(*) FROM tildone.leases
WHERE state = ANY (%(states)s::text[]) AND since >= %(since)s AND losses > 0

-- name: recent_sessions
SELECT coalesce(s.long_name, l.session) FROM tildone.leases l LEFT JOIN tildone.sessions s ON s.name = l.session
WHERE l.state = ANY (%(states)s::text[]) AND l.since >= %(since)s AND l.epoch > 0
UNION
SELECT coalesce(s.long_name, l.session) FROM tildone.leases l LEFT JOIN tildone.sessions s ON s.name = l.session
WHERE l.state = 'open' AND l.owner IS NOT NULL

-- name: fleet_exists
SELECT EXISTS (SELECT FROM tildone.leases) OR EXISTS (SELECT FROM tildone.workers)

-- name: active_leases
SELECT COLUMNS FROM tildone.leases l LEFT JOIN tildone.sessions s ON s.name = l.session
WHERE l.state IN ('open', 'waiting', 'paused') ORDER BY l.run, l.hand

-- name: store_size
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'tildone' AND c.relkind = 'r'

-- name: session_of_run
SELECT coalesce(s.long_name, l.session) FROM tildone.leases l LEFT JOIN tildone.sessions s ON s.name = l.session
WHERE l.run = %(run)s LIMIT 1

-- name: active_runs
SELECT DISTINCT run FROM tildone.leases
WHERE session = %(session)s AND state IN ('open', 'waiting', 'paused')

-- name: has_repository
SELECT 1 FROM tildone.leases WHERE repo = %(repo)s LIMIT 1

-- name: repositories
SELECT DISTINCT repo FROM tildone.leases WHERE repo <> '' ORDER BY repo

-- name: lapse_claims
UPDATE tildone.claims SET until = 0 WHERE session = %(session)s AND until > 0 AND strpos(holder, %(mark)s) > 0

-- name: claimable
-- Leases that seem to be within the limits; the locks of the limits are taken later. Hands of one run may work in one
-- repository, each in a working tree of its own. CASE keeps the server from looking for repositories of leases that have none.
WITH used_up AS MATERIALIZED (
        SELECT p.name FROM tildone.providers p
        WHERE p.runs > 0 AND p.runs <= (
            SELECT count(*) FROM tildone.leases h
            WHERE h.state = 'open' AND h.provider = p.name AND h.owner IS NOT NULL
        )
    )
SELECT COLUMNS, CONTEXT, EXISTS (SELECT FROM tildone.providers p WHERE p.name = l.provider AND p.runs > 0)
FROM tildone.leases l LEFT JOIN tildone.sessions s ON s.name = l.session
WHERE l.state = 'open' AND l.owner IS NULL AND l.not_before <= tildone.clock() AND l.protocol <= %(protocol)s
    AND NOT EXISTS (SELECT FROM tildone.workers w WHERE w.id = %(worker)s AND w.ask = 'drain')
    AND l.labels <@ %(labels)s::text[] AND strpos(l.refused, %(quoted_worker)s) = 0
    AND CASE WHEN l.repo IS NULL THEN true ELSE NOT EXISTS (
            SELECT FROM tildone.leases h
            WHERE h.repo = l.repo AND h.state = 'open' AND h.run <> l.run AND h.owner IS NOT NULL
        ) END
    AND l.provider NOT IN (SELECT name FROM used_up)
ORDER BY l.priority, l.made, l.run, l.hand LIMIT %(most)s
FOR UPDATE OF l SKIP LOCKED

-- name: limits_in_use
-- The last argument is of workers of an earlier version.
SELECT provider, repo, most, held, holder
FROM tildone.limits_in_use(%(providers)s::text[], %(repos)s::text[], %(waits)s, false)

-- name: lapsed
-- Owners get time to renew their leases after the server was started.
SELECT COLUMNS, CONTEXT FROM tildone.leases l LEFT JOIN tildone.sessions s ON s.name = l.session
WHERE l.state = 'open' AND l.owner IS NOT NULL AND l.until < %(clock)s
    AND %(clock)s > tildone.started() + %(grace)s
ORDER BY l.run, l.hand LIMIT 1
FOR UPDATE OF l SKIP LOCKED

-- name: set_aside
UPDATE tildone.leases l SET state = 'failed', owner = NULL
FROM unnest(%(runs)s::text[], %(hands)s::integer[]) AS bad (run, hand)
WHERE l.run = bad.run AND l.hand = bad.hand

-- name: insert_lease
-- The column `sent` is of workers of an earlier version.
INSERT INTO tildone.leases (NAMES, sent) VALUES (PARAMETERS, false)

-- name: update_lease
UPDATE tildone.leases SET CHANGES WHERE run = %(run)s AND hand = %(hand)s

-- name: renew_leases
UPDATE tildone.leases l SET until = tildone.clock() + %(lease)s
FROM unnest(%(runs)s::text[], %(hands)s::integer[], %(epochs)s::bigint[]) AS held (run, hand, epoch)
WHERE l.run = held.run AND l.hand = held.hand AND l.epoch = held.epoch AND l.state = 'open' AND l.owner IS NOT NULL
RETURNING l.run, l.hand, l.epoch, l.ask

-- name: holds
SELECT tildone.holds(%(run)s, %(hand)s, %(epoch)s)

-- name: append_held
SELECT tildone.append_held(
    %(run)s, %(hand)s, %(epoch)s,
    %(session)s, %(long_name)s, %(id)s, %(parent)s, %(at)s, %(snapshot)s, %(body)s, %(reader)s, %(seen)s, %(keeps_redo)s
)

-- name: append_keeping
SELECT tildone.append_keeping(
    %(session)s, %(long_name)s, %(id)s, %(parent)s, %(at)s, %(snapshot)s, %(body)s
)

-- name: run_head
-- The session of a run, the time, the head of the session, and whether it has an event.
SELECT coalesce(s.long_name, s.name), CONTEXT, EXISTS (SELECT FROM tildone.events e WHERE e.session = s.id AND e.id = %(id)s)
FROM tildone.leases l JOIN tildone.sessions s ON s.name = l.session
WHERE l.run = %(run)s AND l.hand = %(hand)s

-- name: forget_leases
DELETE FROM tildone.leases WHERE run = %(run)s AND NOT EXISTS (
    SELECT FROM tildone.leases WHERE run = %(run)s AND state IN ('open', 'waiting', 'paused')
)

-- name: run_sessions
SELECT coalesce(s.long_name, s.name) FROM tildone.sessions s
WHERE EXISTS (SELECT FROM tildone.events e WHERE e.session = s.id AND strpos(e.body, '"fact":"run_queued"') > 0)
ORDER BY s.id

-- name: locked_head
SELECT s.head, CASE WHEN starts_with(s.head, '\#') THEN
    (SELECT e.body FROM tildone.events e WHERE e.session = s.id AND e.id = s.head)
END
FROM tildone.sessions s WHERE s.name = %(session)s FOR UPDATE

-- name: limits
SELECT name, runs, requests FROM tildone.providers ORDER BY name

-- name: set_limit
INSERT INTO tildone.providers (name, runs, requests, earliest) VALUES (%(name)s, %(runs)s, %(requests)s, 0)
ON CONFLICT (name) DO UPDATE SET runs = excluded.runs, requests = excluded.requests

-- name: remove_limit
DELETE FROM tildone.providers WHERE name = %(name)s

-- name: requests
SELECT requests, earliest FROM tildone.providers WHERE name = %(name)s FOR UPDATE

-- name: set_next_request
UPDATE tildone.providers SET earliest = %(earliest)s WHERE name = %(name)s

-- name: worker_beat
INSERT INTO tildone.workers (id, host, pid, version, protocol, slots, labels, seen, ask)
VALUES (%(id)s, %(host)s, %(pid)s, %(version)s, %(protocol)s, %(slots)s, %(labels)s::text[], tildone.clock(), '')
ON CONFLICT (id) DO UPDATE SET version = excluded.version, protocol = excluded.protocol, slots = excluded.slots,
    labels = excluded.labels, seen = excluded.seen
RETURNING ask

-- name: worker_leave
DELETE FROM tildone.workers WHERE id = %(id)s

-- name: workers
SELECT id, host, pid, version, protocol, slots, labels, seen, ask FROM tildone.workers ORDER BY id

-- name: drain
UPDATE tildone.workers SET ask = 'drain' WHERE id = %(id)s

-- name: schedules
SELECT name, cron, plan, next, work, zone, last FROM tildone.schedules ORDER BY name

-- name: due
SELECT name, cron, plan, next, work, zone, last FROM tildone.schedules
WHERE next <= %(now)s ORDER BY next, name LIMIT 1 FOR UPDATE SKIP LOCKED

-- name: set_schedule
INSERT INTO tildone.schedules (name, cron, plan, next, work, zone, last)
VALUES (%(name)s, %(cron)s, %(plan)s, %(next)s, %(work)s, %(zone)s, %(last)s)
ON CONFLICT (name) DO UPDATE SET cron = excluded.cron, plan = excluded.plan, next = excluded.next, work = excluded.work,
    zone = excluded.zone, last = excluded.last

-- name: set_schedule_aside
UPDATE tildone.schedules SET next = 9000000000000000000 WHERE name = %(name)s

-- name: unschedule
DELETE FROM tildone.schedules WHERE name = %(name)s
