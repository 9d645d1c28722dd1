"""Safe file access: locks, atomic replacement, appends that survive a crash, and the person's editor."""
