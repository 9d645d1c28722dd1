"""Agents: their identities, records and processes, the session of each, and what changed on disk."""
