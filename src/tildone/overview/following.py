"""Keeps an index current in a thread.

The thread blocks in `Store.wait_any` until something changes; only who is at work is looked at every two seconds. A
refresh that takes long is followed by a pause, so that a busy store keeps no processor busy.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from time import monotonic

from tildone.errors import TildoneError
from tildone.overview.index import AGENTS_EVERY_MS, IndexChange, SessionIndex

WAIT_SECONDS = 0.2
"""How long one wait for a change takes at most, and so the end of the thread."""

RETRY_SECONDS = 1.0
PAUSE_PER_REFRESH = 2.0
"""After a refresh, the pause is this many times as long as the refresh took."""


class IndexFollower:
    """A thread that refreshes an index until it is stopped.

    `publish` is called in that thread with what has changed: after the first refresh, after one that follows a failure,
    and after each that changed something; `beside` after every refresh. `fail` is called with the reason when the store
    cannot be read; it is tried again after `retry_seconds`, or when `try_now` is called.
    """

    def __init__(
        self,
        index: SessionIndex,
        publish: Callable[[IndexChange], object],
        fail: Callable[[str], object] = lambda _reason: None,
        *,
        beside: Callable[[], object] = lambda: None,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._index, self._beside = index, beside
        self._retry_seconds = retry_seconds
        self._publish, self._fail = publish, fail
        self._stopped, self._hurried = Event(), Event()
        self._thread = Thread(target=self._run, name="tildone-index", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and keep the summaries of the sessions that were read."""
        self._stopped.set()
        self._hurried.set()
        if self._thread.is_alive():
            self._thread.join()

    def try_now(self) -> None:
        """Try again at once to read a store that could not be read."""
        self._hurried.set()

    def _run(self) -> None:
        is_current = False
        while not self._stopped.is_set():
            began = monotonic()
            try:
                change = self._index.refresh()
                if change or not is_current:
                    self._publish(change)
                self._beside()
                is_current = True
                self._stopped.wait(PAUSE_PER_REFRESH * (monotonic() - began))
                self._wait()
            except TildoneError as error:
                is_current = False
                self._hurried.clear()
                self._fail(str(error))
                # `stop` sets both, this one first: the wait cannot miss it.
                if not self._stopped.is_set():
                    self._hurried.wait(self._retry_seconds)
        self._index.keep()

    def _wait(self) -> None:
        """Wait until a session changes, or until it is time to look who is at work."""
        until = monotonic() + AGENTS_EVERY_MS / 1000
        while not self._stopped.is_set() and (left := until - monotonic()) > 0:
            if self._index.store.records.wait_any(self._index.revision, min(left, WAIT_SECONDS)):
                return
