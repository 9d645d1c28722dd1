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
