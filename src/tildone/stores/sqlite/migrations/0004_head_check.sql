-- The name, the head and the redo list of a session once more, so that a changed byte in one of them is noticed.
ALTER TABLE sessions ADD COLUMN head_check TEXT NOT NULL DEFAULT '';

UPDATE sessions SET head_check = quote(name) || quote(head) || ahead;

DROP TRIGGER event_becomes_head;

CREATE TRIGGER event_becomes_head AFTER INSERT ON events
BEGIN
    INSERT INTO sessions (name, head, ahead, events, created, updated, newest, head_check)
        VALUES (NEW.session, NEW.id, '[]', 1, NEW.at, NEW.at, NEW.seq, quote(NEW.session) || quote(NEW.id) || '[]')
    ON CONFLICT (name) DO UPDATE SET
        head = NEW.id, ahead = '[]', events = events + 1, updated = NEW.at, newest = NEW.seq,
        head_check = excluded.head_check;
END;
