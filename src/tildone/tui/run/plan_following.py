"""Follows the plan of the run in a thread: others may change it, and the store is never read on the event loop."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from tildone.errors import TildoneError
from tildone.log.store import Store
from tildone.overview.following import RETRY_SECONDS, WAIT_SECONDS
from tildone.tui.reading import DetailReader, SessionDetail


class PlanFollower:
    """A thread that reads the plan that `session` names whenever it has changed, until it is stopped.

    `publish` is called in that thread with what was read, `fail` with the reason if the store cannot be read.
    """

    def __init__(
        self,
        store: Store,
        reader: DetailReader,
        session: Callable[[], str],
        publish: Callable[[SessionDetail], object],
        fail: Callable[[str], object],
    ) -> None:
        self._store, self._reader, self._session = store, reader, session
        self._publish, self._fail = publish, fail
        self._stopped = Event()
        self._thread = Thread(target=self._run, name="tildone-plan", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread; it ends within a moment."""
        self._stopped.set()

    def _run(self) -> None:
        last: SessionDetail | None = None
        while not self._stopped.is_set():
            try:
                session = self._session()
                found = self._reader.read(session)
                if found != last:
                    self._publish(found)
                last = found
                self._store.wait(session, found.state.head, WAIT_SECONDS)
            except TildoneError as error:
                last = None
                self._fail(str(error))
                self._stopped.wait(RETRY_SECONDS)
