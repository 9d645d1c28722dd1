-- Runs of plans by workers. `until` is in milliseconds by the clock that counts since the machine was started; `boot` names
-- that start. Other times are in milliseconds since 1970. The lists are JSON in ASCII. A lease is queued while it is open and
-- has no owner.
CREATE TABLE leases (
    run TEXT NOT NULL,
    hand INTEGER NOT NULL,
    session ANY NOT NULL,
    state TEXT NOT NULL,
    sent INTEGER NOT NULL,
    owner TEXT,
    ask TEXT NOT NULL,
    questions TEXT NOT NULL,
    refused TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    until INTEGER NOT NULL,
    boot TEXT NOT NULL,
    not_before INTEGER NOT NULL,
    fails INTEGER NOT NULL,
    losses INTEGER NOT NULL,
    task INTEGER NOT NULL,
    made INTEGER NOT NULL,
    since INTEGER NOT NULL,
    repo TEXT,
    provider TEXT NOT NULL,
    labels TEXT NOT NULL,
    priority INTEGER NOT NULL,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    allow TEXT NOT NULL,
    ref TEXT NOT NULL,
    protocol INTEGER NOT NULL,
    PRIMARY KEY (run, hand)
) STRICT, WITHOUT ROWID;

CREATE INDEX queued_leases ON leases (priority, made) WHERE state = 'open' AND owner IS NULL;
CREATE INDEX leases_of_session ON leases (session);
CREATE INDEX leases_by_state ON leases (state, since, run, hand);
CREATE INDEX asking_leases ON leases (run) WHERE questions <> '[]';
CREATE UNIQUE INDEX one_living_run ON leases (session) WHERE hand = 0 AND state IN ('open', 'waiting', 'paused');
CREATE UNIQUE INDEX one_run_per_repository ON leases (repo, hand) WHERE owner IS NOT NULL;

CREATE TABLE workers (
    id TEXT PRIMARY KEY,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    version TEXT NOT NULL,
    protocol INTEGER NOT NULL,
    slots INTEGER NOT NULL,
    labels TEXT NOT NULL,
    seen INTEGER NOT NULL,
    ask TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE schedules (
    name TEXT PRIMARY KEY,
    cron TEXT NOT NULL,
    plan TEXT NOT NULL,
    next INTEGER NOT NULL,
    work TEXT NOT NULL,
    zone TEXT NOT NULL,
    last TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- How many runs may use a provider at once, and how many requests a minute; 0 is no limit. `earliest` is when the next
-- request would come if all came at equal intervals.
CREATE TABLE providers (
    name TEXT PRIMARY KEY,
    runs INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    earliest INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row: what all workers agree on, times in milliseconds, and a number that grows when there may be something to do.
CREATE TABLE fleet (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    revision INTEGER NOT NULL,
    lease INTEGER NOT NULL,
    heartbeat INTEGER NOT NULL,
    margin INTEGER NOT NULL,
    reaper INTEGER NOT NULL,
    renewal INTEGER NOT NULL,
    engine TEXT NOT NULL
) STRICT;

INSERT INTO fleet VALUES (1, 0, 60000, 20000, 5000, 2000, 5000, '');
