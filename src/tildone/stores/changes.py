"""The newest change of each session, for stores that keep it in memory."""

from __future__ import annotations

from itertools import takewhile


class Changes:
    """The revision of each session that has changed, in the order of the changes."""

    def __init__(self, revision: int = 0) -> None:
        self.revision = revision
        self._by_last_change: dict[str, int] = {}

    def add(self, session: str) -> None:
        """Add a change of a session, with a new revision."""
        self.revision += 1
        self._by_last_change.pop(session, None)
        self._by_last_change[session] = self.revision

    def after(self, since: int) -> list[tuple[str, int]]:
        """Return the sessions that changed after a revision, each with its own, the oldest change first.

        A revision that was not reached is one of another store: all sessions have changed since.
        """
        known = since if since <= self.revision else 0
        newest_first = takewhile(lambda change: change[1] > known, reversed(self._by_last_change.items()))
        return list(newest_first)[::-1]
