-- What is kept beside the log. The texts are JSON in ASCII, except those of summaries, which only their readers know.

-- The newest sign of life of each agent.
CREATE TABLE tildone.presence (
    agent text COLLATE "C" PRIMARY KEY,
    session text COLLATE "C" NOT NULL,
    beat bigint NOT NULL,
    body text NOT NULL
) WITH (fillfactor = 50);

-- Questions of agents to a person. A question is open while it has no time of an answer.
CREATE TABLE tildone.needs (
    id text COLLATE "C" PRIMARY KEY,
    session text COLLATE "C" NOT NULL,
    long_name text,                 -- where the name of the session had to be shortened
    since bigint NOT NULL,
    answered_at bigint NOT NULL,
    body text NOT NULL
);

-- What readers have computed of a session at a head.
CREATE TABLE tildone.summaries (
    session bigint PRIMARY KEY REFERENCES tildone.sessions (id) ON DELETE CASCADE,
    head text,
    body text NOT NULL
) WITH (fillfactor = 50);

-- Give a session the next revision because of a question, when the transaction commits; see tildone.revise. An answered
-- question goes without a revision.
CREATE FUNCTION tildone.revise_by_need()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    _need tildone.needs;
BEGIN
    IF TG_OP = 'DELETE' THEN
        _need := OLD;
    ELSE
        _need := NEW;
    END IF;
    PERFORM pg_advisory_xact_lock(1953260654, 1);  -- "tldn"
    INSERT INTO tildone.changes (session, long_name, revision, deleted)
        VALUES (_need.session, _need.long_name, nextval('tildone.revision'),
            NOT EXISTS (SELECT FROM tildone.sessions WHERE name = _need.session))
        ON CONFLICT (session) DO UPDATE SET revision = excluded.revision, deleted = excluded.deleted;
    PERFORM pg_notify('tildone', _need.session);
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER need_is_asked_or_answered AFTER INSERT OR UPDATE ON tildone.needs
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION tildone.revise_by_need();

CREATE CONSTRAINT TRIGGER need_is_withdrawn AFTER DELETE ON tildone.needs
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.answered_at = 0) EXECUTE FUNCTION tildone.revise_by_need();

-- A deleted session loses what is kept of it. It has the rights of its owner, so that users to whom only the older tables
-- were granted can still delete.
CREATE FUNCTION tildone.forget_records()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM tildone.presence WHERE session = OLD.name;
    DELETE FROM tildone.needs WHERE session = OLD.name;
    RETURN NULL;
END $$;

CREATE TRIGGER session_loses_its_records AFTER DELETE ON tildone.sessions
    FOR EACH ROW EXECUTE FUNCTION tildone.forget_records();
