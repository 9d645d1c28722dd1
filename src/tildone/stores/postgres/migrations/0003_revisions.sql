-- The newest change of each session, numbered, so that what changed after a revision is found by an index. It is a table
-- of its own: with an index on a column of sessions that every event changes, every event would rewrite all their indexes.
-- A session that was deleted stays here until 10,000 changes have followed.
CREATE TABLE tildone.changes (
    session text COLLATE "C" PRIMARY KEY,
    long_name text,                 -- where the name had to be shortened
    revision bigint NOT NULL,
    deleted boolean NOT NULL
) WITH (fillfactor = 50);

CREATE INDEX changes_by_revision ON tildone.changes (revision);
CREATE INDEX deletions_by_revision ON tildone.changes (revision) WHERE deleted;

INSERT INTO tildone.changes (session, long_name, revision, deleted)
    SELECT name, long_name, newest, false FROM tildone.sessions;

CREATE SEQUENCE tildone.revision;
SELECT setval('tildone.revision', coalesce((SELECT max(newest) FROM tildone.sessions), 0) + 1, false);

-- Give a changed session the next revision, and tell those who wait. It runs when a transaction commits, for one
-- transaction at a time, as NOTIFY itself does: whoever sees a revision sees the changes of all lower ones. It has the
-- rights of its owner, so that users to whom only the older tables were granted can still write.
CREATE FUNCTION tildone.revise()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    _here tildone.sessions;
    _revision bigint;
BEGIN
    IF TG_OP = 'DELETE' THEN
        _here := OLD;
    ELSE
        _here := NEW;
    END IF;
    PERFORM pg_advisory_xact_lock(1953260654, 1);  -- "tldn"
    _revision := nextval('tildone.revision');
    INSERT INTO tildone.changes (session, long_name, revision, deleted)
        VALUES (_here.name, _here.long_name, _revision, TG_OP = 'DELETE')
        ON CONFLICT (session) DO UPDATE SET revision = excluded.revision, deleted = excluded.deleted;
    IF TG_OP = 'DELETE' THEN
        DELETE FROM tildone.changes WHERE deleted AND revision <= _revision - 10000;
    END IF;
    PERFORM pg_notify('tildone', _here.name);
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER session_is_created_or_deleted AFTER INSERT OR DELETE ON tildone.sessions
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION tildone.revise();

CREATE CONSTRAINT TRIGGER session_is_changed AFTER UPDATE ON tildone.sessions
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION tildone.revise();
