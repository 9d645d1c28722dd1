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

CREATE INDEX queued_leases ON tildone.leases (priority, made) WHERE state = 'open' AND owner IS NULL;
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

-- One row: what all workers agree on, times in milliseconds, and a number that grows when there may be something to do.
CREATE TABLE tildone.fleet (
    id integer PRIMARY KEY CHECK (id = 1),
    revision bigint NOT NULL,
    lease bigint NOT NULL,
    heartbeat bigint NOT NULL,
    margin bigint NOT NULL,
    reaper bigint NOT NULL,
    renewal bigint NOT NULL,
    engine text NOT NULL
) WITH (fillfactor = 50);

INSERT INTO tildone.fleet VALUES (1, 0, 60000, 20000, 5000, 2000, 5000, '');

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

-- Tell those who wait that leases may be free, or that there is a wish. No session has a name with this escape.
CREATE FUNCTION tildone.announce()
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tildone.fleet SET revision = revision + 1;
    PERFORM pg_notify('tildone', '\fleet');
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
