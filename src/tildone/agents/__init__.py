"""Which agents are at work on which plan: their identities, records and processes, and what changed on disk."""
