-- Runs of plans by workers. Times are in milliseconds since 1970, by the clock of the server. The lists that are texts are
-- JSON in ASCII. A lease is queued while it is open and has no owner. Its renewals change no column that has an index, and
-- find room beside the row: they need no vacuum.
CREATE TABLE tildone.leases (
    run text COLLATE "C" NOT NULL,
    hand integer NOT NULL,
    session text COLLATE "C" NOT NULL,
    state text NOT NULL,
    sent boolean NOT NULL,
    owner text COLLATE "C",
    ask text NOT NULL,
    questions text NOT NULL,
    refused text NOT NULL,
    epoch bigint NOT NULL,
    attempt bigint NOT NULL,
    until bigint NOT NULL,
    boot text NOT NULL,
    not_before bigint NOT NULL,
    fails integer NOT NULL,
    losses integer NOT NULL,
    task integer NOT NULL,
    made bigint NOT NULL,
    since bigint NOT NULL,
    repo text COLLATE "C",
    provider text COLLATE "C" NOT NULL,
    labels text[] NOT NULL,
    priority integer NOT NULL,
    agent text NOT NULL,
    model text NOT NULL,
    allow text NOT NULL,
    ref text NOT NULL,
    protocol integer NOT NULL,
    PRIMARY KEY (run, hand)
) WITH (fillfactor = 50);

CREATE INDEX queued_leases ON tildone.leases (priority, made, run, hand) WHERE state = 'open' AND owner IS NULL;
CREATE INDEX owned_leases ON tildone.leases (owner) WHERE owner IS NOT NULL;
CREATE INDEX leases_of_repository ON tildone.leases (repo) WHERE state = 'open' AND repo IS NOT NULL;
CREATE INDEX open_leases ON tildone.leases (run) WHERE state = 'open';
CREATE INDEX leases_of_session ON tildone.leases (session);
CREATE INDEX leases_by_state ON tildone.leases (state, since, run, hand);
CREATE INDEX asking_leases ON tildone.leases (run) WHERE questions <> '[]';
CREATE UNIQUE INDEX one_living_run ON tildone.leases (session)
    WHERE hand = 0 AND state IN ('open', 'waiting', 'paused');
CREATE UNIQUE INDEX one_run_per_repository ON tildone.leases (repo, hand) WHERE owner IS NOT NULL;

CREATE TABLE tildone.workers (
    id text COLLATE "C" PRIMARY KEY,
    host text NOT NULL,
    pid bigint NOT NULL,
    version text NOT NULL,
    protocol integer NOT NULL,
    slots integer NOT NULL,
    labels text[] NOT NULL,
    seen bigint NOT NULL,
    ask text NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE tildone.schedules (
    name text COLLATE "C" PRIMARY KEY,
    cron text NOT NULL,
    plan text NOT NULL,
    next bigint NOT NULL,
    work text NOT NULL,
    zone text NOT NULL,
    last text NOT NULL
);

-- How many runs may use a provider at once, and how many requests a minute; 0 is no limit. `earliest` is when the next
-- request would come if all came at equal intervals.
CREATE TABLE tildone.providers (
    name text COLLATE "C" PRIMARY KEY,
    runs integer NOT NULL,
    requests integer NOT NULL,
    earliest bigint NOT NULL
) WITH (fillfactor = 50);

-- One row: what all workers agree on, times in milliseconds.
CREATE TABLE tildone.fleet (
    id integer PRIMARY KEY CHECK (id = 1),
    lease bigint NOT NULL,
    heartbeat bigint NOT NULL,
    margin bigint NOT NULL,
    reaper bigint NOT NULL,
    renewal bigint NOT NULL,
    engine text NOT NULL
) WITH (fillfactor = 50);

INSERT INTO tildone.fleet VALUES (1, 60000, 20000, 5000, 2000, 5000, '');

-- Numbers whose sum grows when there may be something to do. There are many, so that transactions that end at the same time
-- do not wait for each other here.
CREATE TABLE tildone.announcements (
    id integer PRIMARY KEY,
    revision bigint NOT NULL
) WITH (fillfactor = 50);

INSERT INTO tildone.announcements SELECT id, 0 FROM generate_series(0, 63) AS id;

-- The time in milliseconds since 1970.
CREATE FUNCTION tildone.clock()
RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;

-- When the server was started.
CREATE FUNCTION tildone.started()
RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT floor(extract(epoch FROM pg_postmaster_start_time()) * 1000)::bigint
$$;

-- Whether a lease is held under an epoch. It cannot change until the transaction ends: whoever takes the lease from its owner
-- waits, and whoever comes later sees that it was taken.
CREATE FUNCTION tildone.holds(_run text, _hand integer, _epoch bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM tildone.leases
        WHERE run = _run AND hand = _hand AND epoch = _epoch AND state = 'open' AND owner IS NOT NULL
        FOR SHARE;
    RETURN FOUND;
END $$;

-- Append an event under a lease, in one statement: nobody takes the lease between the check and the append. With `_keeps_redo`,
-- the way forward that undoing left open stays.
CREATE FUNCTION tildone.append_held(
    _run text, _hand integer, _epoch bigint,
    _name text, _long_name text, _id text, _parent text, _at bigint, _snapshot boolean, _body text,
    _reader text, _head text, _keeps_redo boolean
) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF NOT tildone.holds(_run, _hand, _epoch) THEN
        RETURN 'fenced';
    END IF;
    IF _keeps_redo THEN
        RETURN tildone.append_keeping(_name, _long_name, _id, _parent, _at, _snapshot, _body);
    END IF;
    RETURN tildone.append_seen(_name, _long_name, _id, _parent, _at, _snapshot, _body, _reader, _head);
END $$;

-- Append an event. Unless it contains a plan, the way forward that undoing left open stays.
CREATE FUNCTION tildone.append_keeping(
    _name text, _long_name text, _id text, _parent text, _at bigint, _snapshot boolean, _body text
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    _ahead text;
    _verdict text;
BEGIN
    SELECT ahead INTO _ahead FROM tildone.sessions WHERE name = _name FOR UPDATE;
    _verdict := tildone.append(_name, _long_name, _id, _parent, _at, _snapshot, _body);
    IF _verdict = 'done' AND NOT _snapshot AND _ahead <> '[]' THEN
        UPDATE tildone.sessions SET ahead = _ahead WHERE name = _name;
    END IF;
    RETURN _verdict;
END $$;

-- Lock the limits of providers and repositories until the transaction ends, and return what is in use of them: how many runs
-- a provider may have and how many it has, or a run that works in a repository, if there is one. One that another transaction
-- has locked is waited for, or left out. All transactions wait in the same order, and only once: never in a circle. The last
-- query sees what those have committed that had the locks before. With `_sent`, what an engine has counts as held.
CREATE FUNCTION tildone.limits_in_use(_providers text[], _repos text[], _waits boolean, _sent boolean)
RETURNS TABLE (provider text, repo text, most integer, held bigint, holder text) LANGUAGE plpgsql AS $$
DECLARE
    _key text;
    _locked text[] := '{}';
BEGIN
    FOR _key IN
        SELECT 'p' || p FROM unnest(_providers) p UNION SELECT 'r' || r FROM unnest(_repos) r ORDER BY 1
    LOOP
        IF _waits THEN
            PERFORM pg_advisory_xact_lock(hashtextextended(_key, 1953260657));  -- "tldq"
        ELSIF NOT pg_try_advisory_xact_lock(hashtextextended(_key, 1953260657)) THEN
            CONTINUE;
        END IF;
        _locked := _locked || _key;
    END LOOP;
    RETURN QUERY
        SELECT wanted.name, NULL::text, coalesce(p.runs, 0), (
            SELECT count(*) FROM tildone.leases l
            WHERE l.state = 'open' AND l.provider = wanted.name AND (l.owner IS NOT NULL OR _sent AND l.sent)
        ), NULL::text
        FROM unnest(_providers) AS wanted (name) LEFT JOIN tildone.providers p ON p.name = wanted.name
        WHERE 'p' || wanted.name = ANY (_locked)
        UNION ALL
        SELECT NULL, wanted.name, 0, 0, l.run
        FROM unnest(_repos) AS wanted (name) LEFT JOIN tildone.leases l
            ON l.repo = wanted.name AND l.state = 'open' AND (l.owner IS NOT NULL OR _sent AND l.sent)
        WHERE 'r' || wanted.name = ANY (_locked);
END $$;

-- Tell those who wait that leases may be free, or that there is a wish. They listen to a channel of their own.
CREATE FUNCTION tildone.announce()
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tildone.announcements SET revision = revision + 1 WHERE id = pg_backend_pid() % 64;
    PERFORM pg_notify('tildone_leases', '');
END $$;

-- Lock the leases of a session. They are locked before the session, also where it is deleted. It has the rights of its owner,
-- so that users to whom only the older tables were granted can still delete.
CREATE FUNCTION tildone.lock_leases(_session text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM tildone.leases WHERE session = _session ORDER BY run, hand FOR UPDATE;
END $$;

CREATE OR REPLACE FUNCTION tildone.forget(_name text, _expected text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    _here tildone.sessions;
BEGIN
    PERFORM tildone.lock_leases(_name);
    SELECT * INTO _here FROM tildone.sessions WHERE name = _name FOR UPDATE;
    IF _here.head IS DISTINCT FROM _expected THEN
        RETURN 'overtaken';
    END IF;
    DELETE FROM tildone.events WHERE session = _here.id;
    DELETE FROM tildone.sessions WHERE id = _here.id;
    PERFORM pg_notify('tildone', _name);
    RETURN 'done';
END $$;

-- A deleted session loses what is kept of it; see the function of the same name in the schema before.
CREATE OR REPLACE FUNCTION tildone.forget_records()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM tildone.presence WHERE session = OLD.name;
    DELETE FROM tildone.needs WHERE session = OLD.name;
    DELETE FROM tildone.claims WHERE session = OLD.name;
    DELETE FROM tildone.leases WHERE session = OLD.name;
    RETURN NULL;
END $$;
