-- The head that a reader, the model of an agent, has seen of a session; in full, because it is never searched for.
CREATE TABLE tildone.seen (
    session bigint NOT NULL REFERENCES tildone.sessions (id) ON DELETE CASCADE,
    reader text COLLATE "C" NOT NULL,
    head text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (session, reader)
);

-- Record what a reader has seen, or remove the record. Beyond 100 readers of a session, the oldest records go: readers
-- come and go, and one that is displaced is told the plan again.
CREATE FUNCTION tildone.see(_name text, _reader text, _head text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    _session bigint;
    _is_new boolean;
BEGIN
    SELECT id INTO _session FROM tildone.sessions WHERE name = _name FOR UPDATE;
    IF _session IS NULL OR _head IS NULL THEN
        DELETE FROM tildone.seen WHERE session = _session AND reader = _reader;
        RETURN;
    END IF;
    INSERT INTO tildone.seen AS s (session, reader, head) VALUES (_session, _reader, _head)
        ON CONFLICT (session, reader) DO UPDATE SET head = _head, at = clock_timestamp() WHERE s.head <> _head
        RETURNING s.xmax = 0 INTO _is_new;
    IF _is_new THEN
        DELETE FROM tildone.seen WHERE session = _session AND reader IN (
            SELECT reader FROM tildone.seen WHERE session = _session ORDER BY at DESC OFFSET 100
        );
    END IF;
END $$;

-- Append an event and record that a reader has seen it, in one round trip.
CREATE FUNCTION tildone.append_seen(
    _name text, _long_name text, _id text, _parent text, _at bigint, _snapshot boolean, _body text,
    _reader text, _head text
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    _verdict text := tildone.append(_name, _long_name, _id, _parent, _at, _snapshot, _body);
BEGIN
    IF _verdict = 'done' AND _reader <> '' THEN
        PERFORM tildone.see(_name, _reader, _head);
    END IF;
    RETURN _verdict;
END $$;
