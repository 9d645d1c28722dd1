"""Files that are written durably: locks, atomic replacement, appends that survive a crash."""
