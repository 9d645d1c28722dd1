-- Sessions, their events, and the ways to change them.
--
-- Names and ids are kept as names.py writes them: without NUL, and short enough for an index.

-- The schema may have been made by somebody who may, for somebody who may not.
DO $$ BEGIN
    IF to_regnamespace('tildone') IS NULL THEN
        CREATE SCHEMA tildone;
    END IF;
END $$;

CREATE TABLE tildone.migrations (
    version integer PRIMARY KEY,
    name text NOT NULL,
    applied timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE tildone.sessions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    long_name text,                 -- where `name` had to be shortened
    head text COLLATE "C",
    ahead text NOT NULL,            -- the way forward that undoing left open: ids as a JSON list
    events bigint NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    newest bigint NOT NULL          -- grows with every event, whichever session it is of
) WITH (fillfactor = 50);           -- room for the next version of a row beside it: every event makes one

-- Numbered from 1 in the order they were written, session by session and without a gap.
CREATE TABLE tildone.events (
    session bigint NOT NULL,
    number bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    parent text COLLATE "C",
    at bigint NOT NULL,
    snapshot boolean NOT NULL,      -- whether it holds the whole plan, so that reading can stop here
    body text NOT NULL,
    PRIMARY KEY (session, number),
    UNIQUE (session, id)
);

CREATE SEQUENCE tildone.newest;

-- Every change of a session takes the lock of its row first, and tells those who wait for one when it is committed.

CREATE FUNCTION tildone.append(
    _name text, _long_name text, _id text, _parent text, _at bigint, _snapshot boolean, _body text
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    _session bigint;
    _number bigint;
BEGIN
    UPDATE tildone.sessions
        SET head = _id, ahead = '[]', events = events + 1, updated = _at, newest = nextval('tildone.newest')
        WHERE name = _name AND head IS NOT DISTINCT FROM _parent
        RETURNING id, events INTO _session, _number;
    IF NOT FOUND AND _parent IS NULL THEN
        INSERT INTO tildone.sessions (name, long_name, head, ahead, events, created, updated, newest)
            VALUES (_name, _long_name, _id, '[]', 1, _at, _at, nextval('tildone.newest'))
            ON CONFLICT (name) DO NOTHING
            RETURNING id, events INTO _session, _number;
    END IF;
    IF _session IS NULL THEN
        PERFORM FROM tildone.events e JOIN tildone.sessions s ON e.session = s.id
            WHERE s.name = _name AND e.id = _id AND e.body = _body;
        RETURN CASE WHEN FOUND THEN 'there' ELSE 'overtaken' END;
    END IF;
    INSERT INTO tildone.events (session, number, id, parent, at, snapshot, body)
        VALUES (_session, _number, _id, _parent, _at, _snapshot, _body);
    PERFORM pg_notify('tildone', _name);
    RETURN 'done';
END $$;

CREATE FUNCTION tildone.move(_name text, _expected text, _head text, _ahead text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    _here tildone.sessions;
BEGIN
    SELECT * INTO _here FROM tildone.sessions WHERE name = _name FOR UPDATE;
    IF _here.head IS DISTINCT FROM _expected THEN
        RETURN 'overtaken';
    END IF;
    RETURN tildone.stand(_name, _head, _ahead);
END $$;

-- Go to an event, wherever the session stands.
CREATE FUNCTION tildone.stand(_name text, _head text, _ahead text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    _session bigint;
BEGIN
    SELECT id INTO _session FROM tildone.sessions WHERE name = _name FOR UPDATE;
    IF _head IS NOT NULL AND NOT EXISTS (SELECT FROM tildone.events WHERE session = _session AND id = _head) THEN
        RETURN 'unknown';
    END IF;
    UPDATE tildone.sessions SET head = _head, ahead = _ahead WHERE id = _session;
    PERFORM pg_notify('tildone', _name);
    RETURN 'done';
END $$;

-- Take over events, each after its parent. The first that does not fit is named, and the caller takes all of it back.
CREATE FUNCTION tildone.adopt(
    _name text, _long_name text,
    _ids text[], _parents text[], _ats bigint[], _snapshots boolean[], _bodies text[],
    OUT new bigint, OUT orphan bigint, OUT other bigint
) LANGUAGE plpgsql AS $$
DECLARE
    _here tildone.sessions;
    _event record;
    _body text;
BEGIN
    new := 0;
    INSERT INTO tildone.sessions AS s (name, long_name, ahead, events, created, updated, newest)
        VALUES (_name, _long_name, '[]', 0, _ats[1], _ats[1], nextval('tildone.newest'))
        ON CONFLICT (name) DO UPDATE SET ahead = s.ahead  -- nothing new, but the lock
        RETURNING * INTO _here;
    FOR _event IN
        SELECT * FROM unnest(_ids, _parents, _ats, _snapshots, _bodies)
            WITH ORDINALITY AS e (id, parent, at, snapshot, body, position)
    LOOP
        SELECT body INTO _body FROM tildone.events WHERE session = _here.id AND id = _event.id;
        IF FOUND THEN
            IF _body <> _event.body THEN
                other := _event.position;
                RETURN;
            END IF;
            CONTINUE;
        END IF;
        IF _event.parent IS NOT NULL
            AND NOT EXISTS (SELECT FROM tildone.events WHERE session = _here.id AND id = _event.parent)
        THEN
            orphan := _event.position;
            RETURN;
        END IF;
        new := new + 1;
        _here.updated := _event.at;
        INSERT INTO tildone.events (session, number, id, parent, at, snapshot, body)
            VALUES (_here.id, _here.events + new,
                _event.id, _event.parent, _event.at, _event.snapshot, _event.body);
    END LOOP;
    IF new > 0 THEN
        UPDATE tildone.sessions
            SET events = events + new, updated = _here.updated, newest = nextval('tildone.newest')
            WHERE id = _here.id;
    END IF;
END $$;

CREATE FUNCTION tildone.forget(_name text, _expected text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    _here tildone.sessions;
BEGIN
    SELECT * INTO _here FROM tildone.sessions WHERE name = _name FOR UPDATE;
    IF _here.head IS DISTINCT FROM _expected THEN
        RETURN 'overtaken';
    END IF;
    DELETE FROM tildone.events WHERE session = _here.id;
    DELETE FROM tildone.sessions WHERE id = _here.id;
    PERFORM pg_notify('tildone', _name);
    RETURN 'done';
END $$;
