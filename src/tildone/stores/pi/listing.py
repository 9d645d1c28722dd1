"""The sessions of a folder, cached until their files change."""

from __future__ import annotations

import os

from tildone.base import TYPE_CHECKING
from tildone.base.errors import StoreError
from tildone.plan.events import SessionInfo
from tildone.stores.pi.folder import has_session_file_name
from tildone.stores.pi.history import History
from tildone.stores.pi.outline import FileReplaced

if TYPE_CHECKING:
    from tildone.stores.pi.entries import PlanInEntry
    from tildone.stores.pi.folder import Folder


class Listing:
    """A summary of each session in a folder. Files without events and unreadable files are skipped."""

    def __init__(self, folder: Folder, recover: PlanInEntry) -> None:
        self._folder = folder
        self._recover = recover
        self._known: dict[str, tuple[tuple[int, int, int], SessionInfo | None]] = {}
        self._problems: dict[str, str] = {}

    def infos(self) -> list[SessionInfo]:
        """Return every session, the most recently written first."""
        infos = [self._info(paths[0]) for paths in self._folder.files().values()]
        listed = [(written, info.updated, info) for written, info in infos if info is not None]
        return [info for *_, info in sorted(listed, key=lambda row: row[:2], reverse=True)]

    def info(self, session: str) -> SessionInfo | None:
        """Return one session; None if it does not exist or is skipped."""
        path = self._folder.find(session)
        return self._info(path)[1] if path else None

    def problems(self) -> list[str]:
        """Return why files are skipped. A file of another program, which is not named like a session, is none."""
        self.infos()
        found = dict(self._problems)
        for path in filter(has_session_file_name, self._folder.paths()):
            try:
                self._folder.session_in(path)
            except StoreError as error:
                found[path] = str(error)
        return [found[path] for path in sorted(found) if os.path.exists(path)]

    def _info(self, path: str) -> tuple[int, SessionInfo | None]:
        """Return the modification time of a file, and its session."""
        try:
            status = os.stat(path)
        except OSError:
            return 0, None
        fingerprint = status.st_ino, status.st_size, status.st_mtime_ns
        if self._known.get(path, (None, None))[0] != fingerprint:
            self._known[path] = fingerprint, self._read(path)
        return status.st_mtime_ns, self._known[path][1]

    def _read(self, path: str) -> SessionInfo | None:
        history = History(path, self._recover)
        self._problems.pop(path, None)
        try:
            if not history.refresh():
                return None
            events = history.positions()
            if not events:
                return None
            first, last = history.event(events[0]), history.event(events[-1])
            title = history.first_prompt()
        except FileReplaced:
            return None
        except StoreError as error:
            self._problems[path] = str(error)
            return None
        return SessionInfo(history.session, len(events), first.at, last.at, title)
