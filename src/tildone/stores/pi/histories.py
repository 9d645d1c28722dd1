"""The histories of a folder's sessions, which the log and what is kept beside it have in common."""

from __future__ import annotations

from functools import partial
from threading import Condition

from tildone.errors import HeadMoved, StoreError
from tildone.files.lock import FolderLock
from tildone.stores.pi.drafts import Draft
from tildone.stores.pi.history import History
from tildone.stores.pi.outline import FileReplaced
from tildone.stores.pi.seen import note_seen
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from tildone.log.events import Event
    from tildone.stores.pi.entries import PlanInEntry
    from tildone.stores.pi.folder import Folder

    T = TypeVar("T")

_MAX_CACHED_FILES = 32
_MAX_READ_ATTEMPTS = 5
MAX_BATCH_EVENTS = 64


class Histories:
    """Up-to-date histories by session, and changes of their files. The most recently used ones are cached.

    `changed` is notified of each change of this process. Whoever calls `use` holds it.
    """

    def __init__(self, folder: Folder, recover: PlanInEntry, timeout: float, clock: Callable[[], int]) -> None:
        self.folder = folder
        self.clock = clock
        self.changed = Condition()
        self._recover = recover
        self._timeout = timeout
        self._cache: dict[str, History] = {}

    def lock(self) -> FolderLock:
        """Return the lock of the folder, which others may hold for as long as the timeout."""
        return FolderLock(self.folder.path, self._timeout)

    def read(self, session: str, ask: Callable[[History], T]) -> T | None:
        """Call `ask` with the history of the session; return None if it has no file."""
        with self.changed:
            return self.use(session, lambda history: None if history is None else ask(history))

    def events(self, session: str) -> Iterator[Event]:
        """Return every event of every branch, in the order they were written."""
        return self._in_order(session, self.read(session, History.names) or [])

    def change(self, session: str, work: Callable[[History | None, FolderLock], T]) -> T:
        """Run `work` on the session's file under the folder's lock, and wake waiters."""
        # The folder's lock comes first: other threads of this process can read while this one waits for it.
        with self.lock() as lock, self.changed:
            result = self.use(session, lambda history: work(history, lock))
            self.changed.notify_all()
        return result

    def append(self, session: str, event: Event, seen_by: str, check: Callable[[], None] = lambda: None) -> None:
        """Append an event unless `check`, which is called under the folder's lock, raises an error."""

        def add(history: History | None, lock: FolderLock) -> None:
            draft = Draft(history)
            if draft.session_head.head != event.parent:
                raise HeadMoved(session)
            if draft.has(event.id):
                raise StoreError(f"{session!r} has an event {event.id!r} already")
            check()
            draft.add(event)
            self.folder.write(session, history, draft, lock.next_mtime(self.clock()))
            if seen_by:
                note_seen(self.folder.path, session, seen_by, event.id)

        self.change(session, add)

    def wait_until(self, is_reached: Callable[[], bool], timeout: float) -> bool:
        """Wait until `is_reached` returns True; return False if `timeout` seconds pass first."""
        # Late, because few callers wait.
        from tildone.stores.polling import wait_until  # noqa: PLC0415  see above

        return wait_until(self.changed, is_reached, timeout)

    def use(self, session: str, work: Callable[[History | None], T]) -> T:
        """Call `work` with the history of a session, None if it has no file; repeat it if the file is replaced.

        Raises:
            StoreError: the file was replaced again and again.
        """
        for _ in range(_MAX_READ_ATTEMPTS):
            try:
                return work(self._history(session))
            except FileReplaced:
                self._cache.pop(session, None)
        what = f"the file of {session!r} was replaced repeatedly while it was read"
        raise StoreError(f"{self.folder.path}: {what}; try again")

    def clear(self) -> None:
        """Drop the cache."""
        self._cache.clear()

    def _in_order(self, session: str, names: list[str]) -> Iterator[Event]:
        for start in range(0, len(names), MAX_BATCH_EVENTS):
            batch = names[start : start + MAX_BATCH_EVENTS]
            yield from self.read(session, partial(History.read_events, names=batch)) or []

    def _history(self, session: str) -> History | None:
        known = self._cache.pop(session, None)
        if known is None or not known.refresh() or known.session != session:
            path = self.folder.find(session)
            known = History(path, self._recover) if path else None
            if known is None or not known.refresh():
                return None
        self._cache[session] = known
        if len(self._cache) > _MAX_CACHED_FILES:
            del self._cache[next(iter(self._cache))]
        return known
