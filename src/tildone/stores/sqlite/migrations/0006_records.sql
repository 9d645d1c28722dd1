-- What is kept beside the log. The texts are JSON in ASCII, except those of summaries, which only their readers know.

-- The newest sign of life of each agent.
CREATE TABLE presence (
    agent ANY PRIMARY KEY,
    session ANY NOT NULL,
    beat INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Questions of agents to a person. A question is open while it has no time of an answer.
CREATE TABLE needs (
    id ANY PRIMARY KEY,
    session ANY NOT NULL,
    since INTEGER NOT NULL,
    answered_at INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What readers have computed of a session at a head.
CREATE TABLE summaries (
    session ANY PRIMARY KEY,
    head ANY,
    body ANY NOT NULL
) STRICT, WITHOUT ROWID;
