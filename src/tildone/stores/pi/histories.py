"""The histories of a folder's sessions, read again when a file is replaced meanwhile."""

from __future__ import annotations

from tildone.errors import StoreError
from tildone.stores.pi.history import History
from tildone.stores.pi.outline import FileReplaced
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from tildone.stores.pi.entries import PlanInEntry
    from tildone.stores.pi.folder import Folder

    T = TypeVar("T")

_MAX_CACHED_FILES = 32
_MAX_READ_ATTEMPTS = 5


class Histories:
    """Up-to-date histories by session, for one thread at a time. The most recently used ones are cached."""

    def __init__(self, folder: Folder, recover: PlanInEntry) -> None:
        self._folder = folder
        self._recover = recover
        self._cache: dict[str, History] = {}

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
        raise StoreError(f"{self._folder.path}: {what}; try again")

    def clear(self) -> None:
        """Drop the cache."""
        self._cache.clear()

    def _history(self, session: str) -> History | None:
        known = self._cache.pop(session, None)
        if known is None or not known.refresh() or known.session != session:
            path = self._folder.find(session)
            known = History(path, self._recover) if path else None
            if known is None or not known.refresh():
                return None
        self._cache[session] = known
        if len(self._cache) > _MAX_CACHED_FILES:
            del self._cache[next(iter(self._cache))]
        return known
