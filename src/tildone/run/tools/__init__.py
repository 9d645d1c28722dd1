"""The built-in tools of the host."""
