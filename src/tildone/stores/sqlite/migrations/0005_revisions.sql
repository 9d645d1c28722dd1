-- The newest change of each session, numbered: what changed after a revision is a range of the primary key. A session
-- that was deleted stays here. Triggers write the table, so that no writer of any program can bypass it.
CREATE TABLE changes (
    revision INTEGER PRIMARY KEY,
    session ANY NOT NULL UNIQUE
) STRICT;

INSERT OR REPLACE INTO changes (revision, session) SELECT newest, name FROM sessions;

CREATE TRIGGER session_is_created AFTER INSERT ON sessions
BEGIN
    INSERT INTO changes (revision, session) VALUES ((SELECT coalesce(max(revision), 0) + 1 FROM changes), NEW.name)
        ON CONFLICT (session) DO UPDATE SET revision = excluded.revision;
END;

CREATE TRIGGER session_is_changed AFTER UPDATE OF head, ahead, events ON sessions
WHEN NEW.head IS NOT OLD.head OR NEW.ahead IS NOT OLD.ahead OR NEW.events IS NOT OLD.events
BEGIN
    UPDATE changes SET revision = (SELECT max(revision) + 1 FROM changes) WHERE session = NEW.name;
END;

CREATE TRIGGER session_is_deleted AFTER DELETE ON sessions
BEGIN
    UPDATE changes SET revision = (SELECT max(revision) + 1 FROM changes) WHERE session = OLD.name;
END;
