"""Session files in pi's format, and the plan's events in them."""
