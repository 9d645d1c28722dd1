"""Sessions kept in a PostgreSQL database."""
