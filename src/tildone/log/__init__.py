"""The log of a session: its events, their stored form, and the state they lead to."""
