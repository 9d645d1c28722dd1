-- Which agent works on which task. The newest epoch of a task is its claim; older ones are those of agents that have not
-- been told yet that the task has passed to another. `until` is in milliseconds since 1970: -1 if the agent gave the task
-- back, 0 if it is known to have ended. The texts are JSON in ASCII: the agent, and the one that had the task before.
CREATE TABLE claims (
    session ANY NOT NULL,
    task INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    agent ANY NOT NULL,
    until INTEGER NOT NULL,
    holder TEXT NOT NULL,
    before TEXT NOT NULL,
    PRIMARY KEY (session, task, epoch)
) STRICT, WITHOUT ROWID;
