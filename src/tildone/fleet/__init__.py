"""Workers: they take queued runs, and run an agent for each, which is stopped when its lease is no longer held."""
