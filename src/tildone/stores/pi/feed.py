"""The change feed of a folder of session files.

Theory of operation. pi appends to the files without telling anybody, so a change is noticed by looking: a scan compares
the inode, the size and the modification time of every file with those of the scan before. Only the files that differ
are read. Of several changes between two scans, the order is that of the modification times. The file of questions is
compared in the same way: a session changes when it gets a question, or when one is answered or withdrawn.

Revisions are numbers of this object. They begin at the time of its creation in microseconds: one that was kept from an
object of the past is smaller than all of them, and everything has changed since.
"""

from __future__ import annotations

import os

from tildone.errors import StoreError
from tildone.log.tree import SessionChange
from tildone.stores.changes import Changes
from tildone.stores.pi.records import NEEDS, read_needs
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.log.needs import Need
    from tildone.stores.pi.histories import Histories
    from tildone.stores.pi.history import History

    Fingerprint = tuple[int, int, int]


class ChangeFeed:
    """What changed in the files of a folder, for one thread at a time.

    Every file that changed counts, even if only another program has written to it.
    """

    def __init__(self, histories: Histories) -> None:
        self._folder = histories.folder
        self._histories = histories
        self._changes = Changes(histories.clock() // 1000)
        self._files: dict[str, tuple[Fingerprint, str | None]] = {}
        self._needs: tuple[Fingerprint | None, dict[str, Need]] = None, {}

    def revision(self) -> int:
        """Return the revision of the folder as it is now."""
        self._scan()
        return self._changes.revision

    def changed(self, since: int) -> list[SessionChange]:
        """Return the sessions that changed after a revision, the oldest change first."""
        self._scan()
        return [self._change(session, revision) for session, revision in self._changes.after(since)]

    def _scan(self) -> None:
        found = {path: mark for path in self._folder.paths() if (mark := _fingerprint(path)) is not None}
        changed = [self._files.pop(path)[1] for path in [*self._files] if path not in found]
        for path in sorted(found, key=lambda path: found[path][2]):
            fingerprint, session = self._files.get(path, (None, None))
            if fingerprint != found[path]:
                self._files[path] = found[path], self._folder.session_or_none(path)
                changed += [session, self._files[path][1]]
        for session in dict.fromkeys([*changed, *self._asked()]):
            if session is not None:
                self._changes.add(session)

    def _asked(self) -> list[str]:
        """Return the sessions with a question that was asked, answered or withdrawn since the last scan."""
        mark, before = self._needs
        found = _fingerprint(os.path.join(self._folder.path, NEEDS))
        if found == mark:
            return []
        after = {need.id: need for need in read_needs(self._folder.path)}
        self._needs = found, after
        # An answered question goes in the end, which is no change.
        withdrawn = [need for name, need in before.items() if name not in after and need.is_open]
        return [need.session for need in (*withdrawn, *after.values()) if before.get(need.id) != after.get(need.id)]

    def _change(self, session: str, revision: int) -> SessionChange:
        try:
            head, exists = self._histories.use(session, _head)
        except StoreError:
            # Whoever reads the session gets the error.
            head, exists = None, True
        return SessionChange(session, head, revision, exists=exists)


def _head(history: History | None) -> tuple[str | None, bool]:
    """Return the head, and whether there is a session: the conversation of another program may have no events."""
    if history is None:
        return None, False
    head = history.session_head().head
    return head, head is not None or history.has_events()


def _fingerprint(path: str) -> Fingerprint | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
