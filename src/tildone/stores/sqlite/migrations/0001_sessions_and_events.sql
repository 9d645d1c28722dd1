-- Names and ids are of any type because text with half a surrogate pair is kept as bytes. What an event does to its
-- session is said here, so that one statement is the whole of an append, and nobody can write past the head.

CREATE TABLE sessions (
    name ANY PRIMARY KEY,
    head ANY,
    ahead TEXT NOT NULL,
    events INTEGER NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    newest INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    session ANY NOT NULL,
    id ANY NOT NULL,
    parent ANY,
    at INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (session, id)
) STRICT;

CREATE TRIGGER event_hangs_under_head BEFORE INSERT ON events
WHEN NEW.parent IS NOT (SELECT head FROM sessions WHERE name = NEW.session)
BEGIN
    SELECT RAISE(ABORT, 'the head moved');
END;

CREATE TRIGGER event_becomes_head AFTER INSERT ON events
BEGIN
    INSERT INTO sessions (name, head, ahead, events, created, updated, newest)
        VALUES (NEW.session, NEW.id, '[]', 1, NEW.at, NEW.at, NEW.seq)
    ON CONFLICT (name) DO UPDATE SET
        head = NEW.id, ahead = '[]', events = events + 1, updated = NEW.at, newest = NEW.seq;
END;
