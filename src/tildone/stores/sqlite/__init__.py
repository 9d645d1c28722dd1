"""Sessions kept in one SQLite file."""
