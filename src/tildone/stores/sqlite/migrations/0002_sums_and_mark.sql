-- The sum of an event's text, so that a single changed letter is noticed. Events from before have none.
ALTER TABLE events ADD COLUMN crc INTEGER;

-- How the file looked when the write-ahead log was last brought home: its size in bytes, and when it was written to in
-- nanoseconds. A file that looks different beside a log was written to by something that knew nothing of the log.
CREATE TABLE mark (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    size INTEGER NOT NULL,
    written INTEGER NOT NULL
) STRICT;

INSERT INTO mark (one, size, written) VALUES (1, 0, 0);
