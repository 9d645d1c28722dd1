"""All sessions of a store with their states, kept current: what the screens list.

`SessionIndex` holds a `SessionRow` for each session and reads only the sessions that changed. `IndexFollower` keeps an
index current in a thread. `open_index` creates an index from the settings.
"""
