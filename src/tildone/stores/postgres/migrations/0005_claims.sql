-- Which agent works on which task. The newest epoch of a task is its claim; older ones are those of agents that have not
-- been told yet that the task has passed to another. `until` is in milliseconds since 1970, by the clock of the server: -1 if
-- the agent gave the task back, 0 if it is known to have ended. The texts are JSON in ASCII: the agent, and the one that had
-- the task before.
CREATE TABLE tildone.claims (
    session text COLLATE "C" NOT NULL,
    task integer NOT NULL,
    epoch bigint NOT NULL,
    agent text COLLATE "C" NOT NULL,
    until bigint NOT NULL,
    holder text NOT NULL,
    before text NOT NULL,
    PRIMARY KEY (session, task, epoch)
) WITH (fillfactor = 50);

-- Lock the claims of a session until the transaction ends, and return the time in milliseconds since 1970. The session need
-- not exist, so there may be no row to lock. Whoever locks both locks the claims before the row of the session.
CREATE FUNCTION tildone.lock_claims(_session text)
RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1953260655, hashtext(_session));  -- "tldo"
    RETURN floor(extract(epoch FROM clock_timestamp()) * 1000);
END $$;

-- The newest claim of each task of a session.
CREATE FUNCTION tildone.newest_claims(_session text)
RETURNS SETOF tildone.claims LANGUAGE sql STABLE AS $$
    SELECT DISTINCT ON (task) * FROM tildone.claims WHERE session = _session ORDER BY task, epoch DESC
$$;

-- The newest claims of the tasks that have passed from an agent to others.
CREATE FUNCTION tildone.lost_claims(_session text, _agent text)
RETURNS SETOF tildone.claims LANGUAGE sql STABLE AS $$
    SELECT n.* FROM tildone.newest_claims(_session) n
    WHERE n.agent <> _agent AND EXISTS (
        SELECT FROM tildone.claims c
        WHERE c.session = _session AND c.task = n.task AND c.epoch < n.epoch AND c.agent = _agent AND c.until >= 0
    )
$$;

-- Claim a task under the lock, unless another agent holds it. Returns whether it has a new epoch.
CREATE FUNCTION tildone.take(
    _session text, _task integer, _agent text, _holder text, _lease bigint, _now bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    _last tildone.claims;
BEGIN
    SELECT * INTO _last FROM tildone.claims WHERE session = _session AND task = _task ORDER BY epoch DESC LIMIT 1;
    IF NOT FOUND THEN
        INSERT INTO tildone.claims VALUES (_session, _task, 1, _agent, _now + _lease, _holder, '');
        RETURN true;
    END IF;
    IF _last.agent = _agent AND _last.until >= 0 THEN
        UPDATE tildone.claims SET until = _now + _lease, holder = _holder
            WHERE session = _session AND task = _task AND epoch = _last.epoch;
        RETURN false;
    END IF;
    IF _last.agent <> _agent AND _last.until > _now THEN
        RETURN false;
    END IF;
    -- Who gave the task back need not be told, and who claims it again knows.
    DELETE FROM tildone.claims WHERE session = _session AND task = _task AND (until = -1 OR agent = _agent);
    DELETE FROM tildone.claims WHERE session = _session AND task = _task AND epoch IN (
        SELECT epoch FROM tildone.claims WHERE session = _session AND task = _task ORDER BY epoch DESC OFFSET 8
    );
    INSERT INTO tildone.claims VALUES (
        _session, _task, _last.epoch + 1, _agent, _now + _lease, _holder,
        CASE WHEN _last.agent = _agent THEN '' ELSE _last.holder END
    );
    RETURN true;
END $$;

CREATE FUNCTION tildone.claim(_session text, _task integer, _agent text, _holder text, _lease bigint)
RETURNS TABLE (task integer, epoch bigint, until bigint, holder text, before text, now bigint) LANGUAGE plpgsql AS $$
DECLARE
    _now bigint := tildone.lock_claims(_session);
BEGIN
    PERFORM tildone.take(_session, _task, _agent, _holder, _lease, _now);
    RETURN QUERY
        SELECT n.task, n.epoch, n.until, n.holder, n.before, _now FROM tildone.newest_claims(_session) n WHERE n.task = _task;
END $$;

-- Renew the newest claims of an agent that it did not give back, and return those that it has lost.
CREATE FUNCTION tildone.renew_claims(_session text, _agent text, _lease bigint)
RETURNS TABLE (task integer, epoch bigint, until bigint, holder text, before text, now bigint) LANGUAGE plpgsql AS $$
DECLARE
    _now bigint := tildone.lock_claims(_session);
BEGIN
    UPDATE tildone.claims c SET until = _now + _lease
        FROM tildone.newest_claims(_session) n
        WHERE c.session = _session AND c.task = n.task AND c.epoch = n.epoch AND c.agent = _agent AND c.until >= 0;
    RETURN QUERY SELECT l.task, l.epoch, l.until, l.holder, l.before, _now FROM tildone.lost_claims(_session, _agent) l;
END $$;

-- Give back the tasks of an agent, or some of them; forget those that it has lost.
CREATE FUNCTION tildone.release_claims(_session text, _agent text, _tasks integer[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tildone.lock_claims(_session);
    DELETE FROM tildone.claims c
        USING tildone.newest_claims(_session) n
        WHERE c.session = _session AND c.task = n.task AND c.epoch < n.epoch AND c.agent = _agent
            AND (_tasks IS NULL OR c.task = ANY (_tasks));
    UPDATE tildone.claims SET until = -1
        WHERE session = _session AND agent = _agent AND until >= 0 AND (_tasks IS NULL OR task = ANY (_tasks));
END $$;

-- Append an event of an agent, unless tasks of the agent have passed to others or the event changes tasks that others hold.
-- Returns the verdict, the time, and as JSON the claims that were taken or, if the verdict is `fenced`, those in the way:
-- whether the agent had it, task, epoch, until, holder, before.
CREATE FUNCTION tildone.append_fenced(
    _name text, _long_name text, _id text, _parent text, _at bigint, _snapshot boolean, _body text,
    _reader text, _head text,
    _agent text, _holder text, _lease bigint, _changes integer[], _starts integer[], _active integer[], _beside integer[],
    OUT verdict text, OUT now bigint, OUT claims text
) LANGUAGE plpgsql AS $$
DECLARE
    _task integer;
    _new integer[] := '{}';
BEGIN
    now := tildone.lock_claims(_name);
    SELECT json_agg(json_build_array(f.lost, f.task, f.epoch, f.until, f.holder, f.before) ORDER BY f.lost DESC, f.task)
        INTO claims
        FROM (
            SELECT true AS lost, l.* FROM tildone.lost_claims(_name, _agent) l
            UNION ALL
            SELECT false, n.* FROM tildone.newest_claims(_name) n
                WHERE n.task = ANY (_changes || _beside) AND n.agent <> _agent AND n.until > now
        ) AS f;
    IF claims IS NOT NULL THEN
        verdict := 'fenced';
        RETURN;
    END IF;
    verdict := tildone.append_seen(_name, _long_name, _id, _parent, _at, _snapshot, _body, _reader, _head);
    IF verdict <> 'done' THEN
        RETURN;
    END IF;
    FOR _task IN
        SELECT unnest(_starts)
        UNION
        SELECT n.task FROM tildone.newest_claims(_name) n
            WHERE n.task = ANY (_changes) AND n.agent <> _agent AND n.until >= 0
    LOOP
        IF tildone.take(_name, _task, _agent, _holder, _lease, now) THEN
            _new := _new || _task;
        END IF;
    END LOOP;
    UPDATE tildone.claims c
        SET until = CASE WHEN c.task = ANY (_active) THEN append_fenced.now + _lease ELSE -1 END
        WHERE c.session = _name AND c.agent = _agent AND c.until >= 0;
    SELECT json_agg(json_build_array(false, n.task, n.epoch, n.until, n.holder, n.before) ORDER BY n.task)
        INTO claims FROM tildone.newest_claims(_name) n WHERE n.task = ANY (_new);
END $$;

-- A deleted session loses what is kept of it; see the function of the same name in the schema before.
CREATE OR REPLACE FUNCTION tildone.forget_records()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM tildone.presence WHERE session = OLD.name;
    DELETE FROM tildone.needs WHERE session = OLD.name;
    DELETE FROM tildone.claims WHERE session = OLD.name;
    RETURN NULL;
END $$;
