-- Every query of the store, by name.

-- name: prepare
-- Returns the schema version and sets up the connection: a commit is on disk when it is acknowledged (a stronger setting
-- stays), a writer sees what others have committed, and no statement waits for a lock forever. A process that was stopped
-- or cut off in the middle of a transaction loses it soon, and with it the locks that others wait for.
SELECT
    (SELECT max(version) FROM tildone.migrations),
    set_config('lock_timeout', %(timeout)s, false),
    set_config('idle_in_transaction_session_timeout', '5s', false),
    set_config('default_transaction_isolation', 'read committed', false),
    CASE current_setting('synchronous_commit')
        WHEN 'off' THEN set_config('synchronous_commit', 'on', false)
    END

-- name: lock_timeout
SELECT set_config('lock_timeout', %(timeout)s, true)

-- name: migration_lock
SELECT pg_advisory_xact_lock(%(lock)s)

-- name: schema_state
-- The encoding of the database, whether our schema contains anything, and whether it has a table of migrations.
SELECT current_setting('server_encoding'), count(*) > 0, count(*) FILTER (WHERE relname = 'migrations') > 0
FROM pg_class WHERE relnamespace = to_regnamespace('tildone')

-- name: version
SELECT max(version) FROM tildone.migrations

-- name: record_migration
INSERT INTO tildone.migrations (version, name) VALUES (%(version)s, %(name)s)

-- name: session_head
-- The full form of a shortened id is in the text of its event.
SELECT
    s.head,
    s.ahead,
    CASE WHEN starts_with(s.head, '\#') THEN
        (SELECT e.body FROM tildone.events e WHERE e.session = s.id AND e.id = s.head)
    END
FROM tildone.sessions s WHERE s.name = %(session)s

-- name: history
-- From an event (by default the session's head) towards the root: limited to a number of steps and about a number of bytes, or, with
-- to_snapshot, to the first snapshot of the plan. The LIMITs force one index lookup per step, whatever the statistics say.
WITH RECURSIVE way (session, parent, snapshot, body, step, bytes) AS (
    SELECT e.session, e.parent, e.snapshot, e.body, 1, octet_length(e.body)
    FROM tildone.sessions s
    CROSS JOIN LATERAL (
        SELECT * FROM tildone.events e WHERE e.session = s.id AND e.id = coalesce(%(head)s, s.head) LIMIT 1
    ) e
    WHERE s.name = %(session)s
    UNION ALL
    SELECT e.session, e.parent, e.snapshot, e.body, way.step + 1, way.bytes + octet_length(e.body)
    FROM way
    CROSS JOIN LATERAL (
        SELECT * FROM tildone.events e WHERE e.session = way.session AND e.id = way.parent LIMIT 1
    ) e
    WHERE way.step < %(steps)s AND way.bytes < %(bytes)s AND NOT (way.snapshot AND %(to_snapshot)s)
)
SELECT body, parent FROM way ORDER BY step

-- name: session
SELECT id, events FROM tildone.sessions WHERE name = %(session)s

-- name: events
-- In the order they were written, limited to about a number of bytes, but at least one event.
SELECT number, body FROM (
    SELECT number, body, sum(octet_length(body)) OVER (ORDER BY number) - octet_length(body) AS before
    FROM tildone.events
    WHERE session = %(session)s AND number > %(after)s AND number <= %(last)s
    ORDER BY number LIMIT %(limit)s
) AS e
WHERE before < %(bytes)s ORDER BY number

-- name: body
SELECT e.body
FROM tildone.events e JOIN tildone.sessions s ON e.session = s.id
WHERE s.name = %(session)s AND e.id = %(id)s

-- name: leaves
SELECT e.id, CASE WHEN starts_with(e.id, '\#') THEN e.body END
FROM tildone.events e JOIN tildone.sessions s ON e.session = s.id
WHERE s.name = %(session)s
    AND NOT EXISTS (SELECT FROM tildone.events child WHERE child.session = e.session AND child.parent = e.id)
ORDER BY e.number

-- name: sessions
SELECT coalesce(long_name, name), events, created, updated FROM tildone.sessions ORDER BY newest DESC

-- name: session_info
SELECT coalesce(long_name, name), events, created, updated FROM tildone.sessions WHERE name = %(session)s

-- name: revision
SELECT coalesce(max(revision), 0) FROM tildone.changes

-- name: changed
-- A revision that the store has not reached is one of another store: all sessions have changed since. The LIMIT forces one
-- index lookup per changed session.
SELECT
    coalesce(c.long_name, c.session),
    s.head,
    CASE WHEN starts_with(s.head, '\#') THEN
        (SELECT e.body FROM tildone.events e WHERE e.session = s.id AND e.id = s.head)
    END,
    c.revision,
    NOT c.deleted
FROM (
    SELECT * FROM tildone.changes WHERE revision > %(since)s
    UNION ALL
    SELECT * FROM tildone.changes WHERE (SELECT max(revision) FROM tildone.changes) < %(since)s
) AS c
LEFT JOIN LATERAL (SELECT * FROM tildone.sessions s WHERE s.name = c.session LIMIT 1) AS s ON true
ORDER BY c.revision

-- name: revision_before_schema_3
SELECT coalesce(max(newest), 0) FROM tildone.sessions

-- name: changed_before_schema_3
SELECT
    coalesce(s.long_name, s.name),
    s.head,
    CASE WHEN starts_with(s.head, '\#') THEN
        (SELECT e.body FROM tildone.events e WHERE e.session = s.id AND e.id = s.head)
    END,
    s.newest,
    true
FROM tildone.sessions s
WHERE s.newest > CASE WHEN %(since)s <= (SELECT max(newest) FROM tildone.sessions) THEN %(since)s ELSE 0 END
ORDER BY s.newest

-- name: append
SELECT tildone.append(
    %(session)s, %(long_name)s, %(id)s, %(parent)s, %(at)s, %(snapshot)s, %(body)s
)

-- name: append_seen
SELECT tildone.append_seen(
    %(session)s, %(long_name)s, %(id)s, %(parent)s, %(at)s, %(snapshot)s, %(body)s, %(reader)s, %(seen)s
)

-- name: seen
SELECT n.head FROM tildone.seen n JOIN tildone.sessions s ON n.session = s.id
WHERE s.name = %(session)s AND n.reader = %(reader)s

-- name: set_seen
SELECT tildone.see(%(session)s, %(reader)s, %(seen)s)

-- name: move_head
SELECT tildone.move(%(session)s, %(expected)s, %(head)s, %(ahead)s)

-- name: import_events
SELECT new, orphan, other FROM tildone.adopt(
    %(session)s, %(long_name)s,
    %(ids)s::text[], %(parents)s::text[], %(ats)s::bigint[], %(snapshots)s::boolean[], %(bodies)s::text[]
)

-- name: set_head
SELECT tildone.stand(%(session)s, %(head)s, %(ahead)s)

-- name: delete_session
SELECT tildone.forget(%(session)s, %(expected)s)

-- name: server
SELECT
    current_setting('server_version'),
    (SELECT max(version) FROM tildone.migrations),
    current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on',
    current_setting('transaction_read_only') = 'on'

-- name: all_events
-- Events of every session, in batches, each with whether its parent was written before it.
SELECT session, number, name, id, parent, at, snapshot, parent_precedes, body FROM (
    SELECT
        e.session, e.number, s.name, e.id, e.parent, e.at, e.snapshot, e.body,
        e.parent IS NULL OR EXISTS (
            SELECT FROM tildone.events p
            WHERE p.session = e.session AND p.id = e.parent AND p.number < e.number
        ) AS parent_precedes,
        sum(octet_length(e.body)) OVER (ORDER BY e.session, e.number) - octet_length(e.body) AS before
    FROM tildone.events e LEFT JOIN tildone.sessions s ON s.id = e.session
    WHERE (e.session, e.number) > (%(session)s, %(number)s)
    ORDER BY e.session, e.number LIMIT %(limit)s
) AS e
WHERE before < %(bytes)s ORDER BY session, number

-- name: session_states
-- The columns of each session, and whether its events confirm them.
SELECT
    s.name, s.ahead, s.events, count(e.number),
    s.events = coalesce(max(e.number), 0)
        AND s.created = min(e.at) FILTER (WHERE e.number = 1)
        AND s.updated = min(e.at) FILTER (WHERE e.number = s.events),
    s.head IS NULL OR bool_or(e.id = s.head)
FROM tildone.sessions s LEFT JOIN tildone.events e ON e.session = s.id
GROUP BY s.id ORDER BY s.id

-- name: count_known
SELECT count(*) FROM tildone.events e JOIN tildone.sessions s ON e.session = s.id
WHERE s.name = %(session)s AND e.id = ANY(%(ids)s)

-- name: totals
SELECT count(*), (SELECT count(*) FROM tildone.events) FROM tildone.sessions

-- name: listen
LISTEN tildone

-- name: listen_to_leases
LISTEN tildone_leases


-- name: beat
-- Presences that are too old are removed.
WITH old AS (DELETE FROM tildone.presence WHERE beat < %(oldest)s AND agent <> %(agent)s)
INSERT INTO tildone.presence (agent, session, beat, body) VALUES (%(agent)s, %(session)s, %(beat)s, %(body)s)
ON CONFLICT (agent) DO UPDATE SET session = excluded.session, beat = excluded.beat, body = excluded.body

-- name: leave
DELETE FROM tildone.presence WHERE agent = %(agent)s

-- name: presences
SELECT body FROM tildone.presence

-- name: ask
INSERT INTO tildone.needs (id, session, long_name, since, answered_at, body)
VALUES (%(id)s, %(session)s, %(long_name)s, %(since)s, %(answered_at)s, %(body)s)
ON CONFLICT (id) DO NOTHING

-- name: answer
UPDATE tildone.needs SET answered_at = %(answered_at)s, body = %(body)s
WHERE id = %(id)s AND answered_at = 0
RETURNING body

-- name: withdraw
DELETE FROM tildone.needs WHERE id = %(id)s AND answered_at = 0

-- name: forget_needs
-- Removes answers that are too old or too many, and open questions that are too many.
DELETE FROM tildone.needs WHERE answered_at > 0 AND answered_at < %(oldest)s
    OR id IN (SELECT id FROM tildone.needs WHERE answered_at > 0 ORDER BY answered_at DESC, id DESC OFFSET %(max_answered)s)
    OR id IN (SELECT id FROM tildone.needs WHERE answered_at = 0 ORDER BY since DESC, id DESC OFFSET %(max_open)s)

-- name: need
SELECT body FROM tildone.needs WHERE id = %(id)s

-- name: needs
SELECT body FROM tildone.needs WHERE answered_at = 0

-- name: kept_summaries
SELECT coalesce(s.long_name, s.name), k.head, k.body
FROM tildone.summaries k JOIN tildone.sessions s ON k.session = s.id

-- name: keep_summaries
INSERT INTO tildone.summaries (session, head, body)
SELECT s.id, k.head, k.body
FROM unnest(%(names)s::text[], %(heads)s::text[], %(bodies)s::text[]) AS k (name, head, body)
JOIN tildone.sessions s ON s.name = k.name
ON CONFLICT (session) DO UPDATE SET head = excluded.head, body = excluded.body

-- name: density
SELECT div((e.at - %(begin)s)::numeric * %(buckets)s, (%(end)s - %(begin)s)::numeric)::int AS bucket, count(*)
FROM tildone.events e JOIN tildone.sessions s ON e.session = s.id
WHERE s.name = %(session)s AND e.at >= %(begin)s AND e.at < %(end)s
GROUP BY bucket

-- name: append_fenced
SELECT verdict, now, claims FROM tildone.append_fenced(
    %(session)s, %(long_name)s, %(id)s, %(parent)s, %(at)s, %(snapshot)s, %(body)s, %(reader)s, %(seen)s,
    %(agent)s, %(holder)s, %(lease)s, %(changes)s::integer[], %(starts)s::integer[], %(active)s::integer[],
    %(beside)s::integer[]
)

-- name: claim
SELECT task, epoch, until, holder, before, now
FROM tildone.claim(%(session)s, %(task)s, %(agent)s, %(holder)s, %(lease)s)

-- name: renew
SELECT task, epoch, until, holder, before, now FROM tildone.renew_claims(%(session)s, %(agent)s, %(lease)s)

-- name: release
SELECT tildone.release_claims(%(session)s, %(agent)s, %(tasks)s::integer[])

-- name: lapse
UPDATE tildone.claims SET until = 0 WHERE session = %(session)s AND agent = %(agent)s AND until > 0

-- name: claims
SELECT task, epoch, until, holder, before, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
FROM (
    SELECT DISTINCT ON (task) * FROM tildone.claims WHERE session = %(session)s ORDER BY task, epoch DESC
) AS newest
WHERE until >= 0 ORDER BY task
