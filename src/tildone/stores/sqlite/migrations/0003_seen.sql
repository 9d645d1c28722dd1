-- The head that a reader, the model of an agent, has seen of a session. One row more than a session may have displaces
-- the one with the oldest head: readers come and go, and one that is displaced is told the plan again.
CREATE TABLE seen (
    session ANY NOT NULL,
    reader ANY NOT NULL,
    head ANY NOT NULL,
    PRIMARY KEY (session, reader)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER seen_is_bounded AFTER INSERT ON seen
BEGIN
    DELETE FROM seen WHERE session = NEW.session AND reader IN (
        SELECT older.reader
        FROM seen AS older LEFT JOIN events ON events.session = older.session AND events.id = older.head
        WHERE older.session = NEW.session AND older.reader IS NOT NEW.reader
        ORDER BY events.seq DESC LIMIT -1 OFFSET 99
    );
END;

-- An event and the reader that has seen it. An insert here appends the event and records the head in one statement, so
-- that it is as atomic as an append, and needs no transaction of several statements.
CREATE VIEW seen_events AS SELECT session, id, parent, at, body, crc, NULL AS reader FROM events;

CREATE TRIGGER seen_event_is_appended INSTEAD OF INSERT ON seen_events
BEGIN
    INSERT INTO events (session, id, parent, at, body, crc)
        VALUES (NEW.session, NEW.id, NEW.parent, NEW.at, NEW.body, NEW.crc);
    INSERT INTO seen (session, reader, head) VALUES (NEW.session, NEW.reader, NEW.id)
        ON CONFLICT (session, reader) DO UPDATE SET head = excluded.head;
END;
