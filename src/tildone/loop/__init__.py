"""Whether and when an agent is told to continue."""
