"""Waiting for a change of a store that other processes write to without telling."""

from __future__ import annotations

from itertools import takewhile
from time import monotonic

from tildone.base import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Condition


class Changes:
    """The revision of each session that has changed, in the order of the changes."""

    def __init__(self, revision: int = 0) -> None:
        self.revision = revision
        self._by_last_change: dict[str, int] = {}

    def add(self, session: str) -> None:
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


FIRST_POLL_SECONDS = 0.005
MAX_POLL_SECONDS = 0.05
REST_PER_CHECK = 4.0
"""After a check that takes long, as of a folder of many files, the pause is at least this many times as long."""


def wait_until(changed: Condition, is_reached: Callable[[], bool], timeout: float) -> bool:
    """Wait until `is_reached` returns True; return False if `timeout` seconds pass first.

    A change made in this process notifies `changed` and is noticed at once, one made elsewhere by polling, within a
    twentieth of a second unless a check takes long.
    """
    until = monotonic() + timeout
    pause = FIRST_POLL_SECONDS
    try:
        with changed:
            while True:
                began = monotonic()
                if is_reached():
                    return True
                now = monotonic()
                if now >= until:
                    return False
                changed.wait(min(max(pause, REST_PER_CHECK * (now - began)), until - now))
                pause = min(pause * 1.5, MAX_POLL_SECONDS)
    except RuntimeError as error:
        # Ctrl-C after `wait` has released the lock, and before it waits: leaving the block fails.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise error.__context__ from None
        raise
