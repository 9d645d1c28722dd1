"""Safe file access: locks, atomic replacement, and appends that survive a crash."""
