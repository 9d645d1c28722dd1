"""The sessions of a folder, cached for as long as their files do not change."""

from __future__ import annotations

import os

from tildone.errors import StoreError
from tildone.log.tree import SessionInfo
from tildone.stores.pi.history import History
from tildone.stores.pi.outline import FileReplaced
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.stores.pi.entries import PlanInEntry
    from tildone.stores.pi.folder import Folder


class Listing:
    """A summary of each session in a folder. Files without events, or that cannot be read, are left out."""

    def __init__(self, folder: Folder, recover: PlanInEntry) -> None:
        self._folder = folder
        self._recover = recover
        self._known: dict[str, tuple[tuple[int, int, int], SessionInfo | None]] = {}

    def infos(self) -> list[SessionInfo]:
        """Every session, the one written to last first."""
        found = [self._info(paths[0]) for paths in self._folder.files().values()]
        listed = [(written, info.updated, info) for written, info in found if info is not None]
        return [info for *_, info in sorted(listed, key=lambda one: one[:2], reverse=True)]

    def _info(self, path: str) -> tuple[int, SessionInfo | None]:
        """The modification time of a file, and its session."""
        try:
            found = os.stat(path)
        except OSError:
            return 0, None
        marks = found.st_ino, found.st_size, found.st_mtime_ns
        if self._known.get(path, (None, None))[0] != marks:
            self._known[path] = marks, self._read(path)
        return found.st_mtime_ns, self._known[path][1]

    def _read(self, path: str) -> SessionInfo | None:
        history = History(path, self._recover)
        try:
            if not history.refresh():
                return None
            events = history.positions()
            if not events:
                return None
            first, last = history.event(events[0]), history.event(events[-1])
        except (StoreError, FileReplaced):
            return None
        return SessionInfo(history.session, len(events), first.at, last.at)
