"""The store in a folder of session files in pi's format, one file per session. It is a log, with records beside it.

Theory of operation. Writers hold the folder's lock, read what was appended since their last read, check the head, and
append whole lines with one `write` and an fsync. Nothing in a file is ever changed, so pi, which uses no lock, may
append to the same file: an entry that it appends becomes an ancestor of the next event, or starts a branch.

Readers take no lock. They see complete lines only: a line without its newline is a write in progress, or was torn by a
crash and is skipped. Several lines that belong together form a batch that is ignored until its last line is there.

The modification time of a file orders sessions by their last event. The store sets it explicitly, to times that only
grow (`FolderLock.next_mtime`), and an entry that only moves the head leaves it as it was.

Deleting a session removes its file if tildone alone has written to it. Otherwise an entry is appended that cancels all
events before it, and the conversation stays.
"""

from __future__ import annotations

import os
from time import time_ns

from tildone.errors import HeadMoved, UnknownEvent
from tildone.files import durable
from tildone.log.tree import SessionHead, SessionInfo
from tildone.stores.base import TIMEOUT_SECONDS
from tildone.stores.pi.drafts import Draft, import_draft, unknown_events
from tildone.stores.pi.folder import Folder
from tildone.stores.pi.histories import MAX_BATCH_EVENTS, Histories
from tildone.stores.pi.history import History
from tildone.stores.pi.listing import Listing
from tildone.stores.pi.records import JsonlRecords, forget_session
from tildone.stores.pi.seen import remove_seen
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tildone.files.lock import FolderLock
    from tildone.log.events import Event
    from tildone.log.findings import Finding
    from tildone.log.store import ProgressCallback
    from tildone.stores.pi.entries import PlanInEntry


class JsonlStore:
    """A store in a folder of session files. Acknowledged changes are on disk.

    `recover` returns the plan in an entry of another program. Entries of other programs are never changed.

    Raises:
        StoreError: the folder or a file cannot be used; the subclass says why. Any method may raise it.
    """

    durable = True
    user = ""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        recover: PlanInEntry,
        *,
        timeout: float = TIMEOUT_SECONDS,
        clock: Callable[[], int] = time_ns,
    ) -> None:
        self._folder = Folder(os.path.abspath(folder))
        self._recover = recover
        self._files = Histories(self._folder, recover, timeout, clock)
        self._listing = Listing(self._folder, recover)
        self.records = JsonlRecords(self._files)
        # List the folder at once, so that errors are raised on opening.
        self._folder.paths()

    def session_head(self, session: str) -> SessionHead:
        return self._files.read(session, History.session_head) or SessionHead()

    def history(self, session: str, head: str | None = None) -> Iterator[Event]:
        newest = self.session_head(session).head if head is None else head
        return iter(()) if newest is None else self._ancestors(session, self._path(session, newest, 1))

    def events(self, session: str) -> Iterator[Event]:
        return self._files.events(session)

    def append(self, session: str, event: Event, seen_by: str = "") -> None:
        self._files.append(session, event, seen_by)

    def move_head(self, session: str, to: SessionHead, *, expected: str | None) -> None:
        def set_head(history: History | None, _lock: FolderLock) -> None:
            draft = Draft(history)
            if draft.session_head.head != expected:
                raise HeadMoved(session)
            draft.set_head(to, self._files.clock() // 1_000_000)
            if history is not None and history.has_events():
                self._folder.write(session, history, draft)

        self._files.change(session, set_head)

    def import_events(self, session: str, events: Iterable[Event], to: SessionHead) -> int:
        imported = list(events)

        def insert(history: History | None, lock: FolderLock) -> int:
            new = unknown_events(session, history, imported)
            draft = import_draft(history, new, to, self._files.clock() // 1_000_000)
            if new:
                self._folder.write(session, history, draft, lock.next_mtime(self._files.clock()))
            elif history is not None and history.has_events():
                self._folder.write(session, history, draft)
            return len(new)

        return self._files.change(session, insert)

    def delete(self, session: str, *, expected: str | None) -> None:
        """Delete the session, its events, and what is kept beside them. Entries of other programs stay in its file.

        Raises:
            HeadMoved: the head is not `expected`: another writer is using the session.
        """

        def remove(history: History | None, _lock: FolderLock) -> None:
            draft = Draft(history)
            if draft.session_head.head != expected:
                raise HeadMoved(session)
            if history is not None and history.has_events():
                if history.is_all_ours():
                    durable.remove(history.outline.path)
                else:
                    draft.delete_plan(self._files.clock() // 1_000_000)
                    self._folder.write(session, history, draft)
                remove_seen(self._folder.path, session)
                forget_session(self._folder.path, session)

        self._files.change(session, remove)

    def leaves(self, session: str) -> list[str]:
        return self._files.read(session, History.leaves) or []

    def sessions(self) -> list[SessionInfo]:
        """Return every session, the most recently written first. Unreadable files are skipped."""
        with self._files.changed:
            return self._listing.infos()

    def session_info(self, session: str) -> SessionInfo | None:
        """Return the entry of one session; None if it does not exist or cannot be read."""
        with self._files.changed:
            return self._listing.info(session)

    def unreadable(self) -> list[str]:
        """Return what is wrong with each file that `sessions` skips."""
        with self._files.changed:
            return self._listing.problems()

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        return self._files.wait_until(lambda: self.session_head(session).head != head, timeout)

    def check(self, _progress: ProgressCallback | None = None) -> Iterator[Finding]:
        """Check the integrity of the folder and its files, file by file."""
        # Late, because few commands need it.
        from tildone.stores.pi.examination import findings  # noqa: PLC0415  see above

        return findings(self._folder, self._recover)

    def compact(self) -> None:
        """Do nothing: a deleted session leaves no unused space in other files."""

    def close(self) -> None:
        """Drop the caches. A closed store must not be used again."""
        self._files.clear()

    def _path(self, session: str, head: str, limit: int) -> list[Event]:
        """Return up to `limit` events from `head` towards the root."""

        def newest_first(history: History) -> list[Event]:
            at = history.find(head)
            return [] if at is None else history.newest_first(at, limit)

        if events := self._files.read(session, newest_first):
            return events
        raise UnknownEvent(head)

    def _ancestors(self, session: str, newest: list[Event]) -> Iterator[Event]:
        limit = 1
        yield from newest
        while (parent := newest[-1].parent) is not None:
            limit = min(2 * limit, MAX_BATCH_EVENTS)
            yield from (newest := self._path(session, parent, limit))
