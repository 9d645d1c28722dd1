"""A fleet: the agents of a worker, each in a process tree that is stopped when its lease is no longer held."""
