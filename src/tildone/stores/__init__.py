"""Where sessions are kept: one module a kind of place."""
