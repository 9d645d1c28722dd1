"""The store in a folder of session files in pi's format, one file per session.

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
from functools import partial
from threading import Condition
from time import time_ns

from tildone.errors import HeadMoved, StoreError, UnknownEvent
from tildone.files import durable
from tildone.files.lock import FolderLock
from tildone.log.tree import SessionChange, SessionHead, SessionInfo
from tildone.stores.base import TIMEOUT_SECONDS
from tildone.stores.pi.claims import JsonlClaims
from tildone.stores.pi.drafts import Draft, import_draft, unknown_events
from tildone.stores.pi.folder import Folder
from tildone.stores.pi.histories import Histories
from tildone.stores.pi.history import History
from tildone.stores.pi.listing import Listing
from tildone.stores.pi.records import JsonlRecords, forget_session
from tildone.stores.pi.seen import note_seen, read_seen, remove_seen, write_seen
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    from tildone.log.events import Event
    from tildone.log.findings import Finding
    from tildone.log.store import ProgressCallback
    from tildone.stores.pi.entries import PlanInEntry
    from tildone.stores.pi.feed import ChangeFeed

    T = TypeVar("T")

_MAX_BATCH_EVENTS = 64


class JsonlStore(JsonlClaims, JsonlRecords):
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
        self._timeout = timeout
        self._clock = clock
        self._changed = Condition()
        self._histories = Histories(self._folder, recover)
        self._listing = Listing(self._folder, recover)
        self._feed: ChangeFeed | None = None
        # List the folder at once, so that errors are raised on opening.
        self._folder.paths()

    def session_head(self, session: str) -> SessionHead:
        """Return the head of the session and its redo list."""
        return self._read(session, History.session_head) or SessionHead()

    def history(self, session: str, head: str | None = None) -> Iterator[Event]:
        """Return the events from `head`, by default the session's own, to the root, newest first.

        Raises:
            UnknownEvent: `head` is not in this session.
        """
        newest = self.session_head(session).head if head is None else head
        return iter(()) if newest is None else self._ancestors(session, self._path(session, newest, 1))

    def events(self, session: str) -> Iterator[Event]:
        """Return every event of every branch, in the order they were written."""
        return self._in_order(session, self._read(session, History.names) or [])

    def append(self, session: str, event: Event, seen_by: str = "") -> None:
        """Append `event` after the head and make it the head; on disk when this returns.

        Raises:
            HeadMoved: `event.parent` is no longer the head.
        """
        self.append_if(session, event, seen_by, lambda: None)

    def append_if(self, session: str, event: Event, seen_by: str, check: Callable[[], None]) -> None:
        """Append an event unless `check`, which is called under the folder's lock, raises an error."""

        def add(history: History | None, lock: FolderLock) -> None:
            draft = Draft(history)
            if draft.session_head.head != event.parent:
                raise HeadMoved(session)
            if draft.has(event.id):
                raise StoreError(f"{session!r} has an event {event.id!r} already")
            check()
            draft.add(event)
            self._folder.write(session, history, draft, lock.next_mtime(self._clock()))
            if seen_by:
                note_seen(self._folder.path, session, seen_by, event.id)

        self._change(session, add)

    def move_head(self, session: str, to: SessionHead, *, expected: str | None) -> None:
        """Make another event the head.

        Raises:
            HeadMoved: the head is no longer `expected`.
            UnknownEvent: `to` names an event that is not in this session.
        """

        def set_head(history: History | None, _lock: FolderLock) -> None:
            draft = Draft(history)
            if draft.session_head.head != expected:
                raise HeadMoved(session)
            draft.set_head(to, self._clock() // 1_000_000)
            if history is not None and history.has_events():
                self._folder.write(session, history, draft)

        self._change(session, set_head)

    def import_events(self, session: str, events: Iterable[Event], to: SessionHead) -> int:
        """Insert events of another store, whatever the current head, then set the head: all of it or nothing.

        Raises:
            UnknownEvent: the parent of an event, or the new head, is neither in this session nor among `events`.
            StoreError: this session has a different event with the same id.
        """
        imported = list(events)

        def insert(history: History | None, lock: FolderLock) -> int:
            new = unknown_events(session, history, imported)
            draft = import_draft(history, new, to, self._clock() // 1_000_000)
            if new:
                self._folder.write(session, history, draft, lock.next_mtime(self._clock()))
            elif history is not None and history.has_events():
                self._folder.write(session, history, draft)
            return len(new)

        return self._change(session, insert)

    def seen(self, session: str, reader: str) -> str | None:
        """Return the head that a reader has seen."""
        return read_seen(self._folder.path, session).get(reader)

    def set_seen(self, session: str, reader: str, head: str | None) -> None:
        """Record the head that a reader has seen; None removes the record."""

        def record(history: History | None, _lock: FolderLock) -> None:
            if history is not None and history.has_events():
                write_seen(self._folder.path, session, reader, head)

        if head != self.seen(session, reader):
            self._change(session, record)

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
                    draft.delete_plan(self._clock() // 1_000_000)
                    self._folder.write(session, history, draft)
                remove_seen(self._folder.path, session)
                forget_session(self._folder.path, session)

        self._change(session, remove)

    def leaves(self, session: str) -> list[str]:
        """Return the newest event of each branch, in the order they were written."""
        return self._read(session, History.leaves) or []

    def sessions(self) -> list[SessionInfo]:
        """Return every session, the most recently written first. Unreadable files are skipped."""
        with self._changed:
            return self._listing.infos()

    def session_info(self, session: str) -> SessionInfo | None:
        """Return the entry of one session; None if it does not exist or cannot be read."""
        with self._changed:
            return self._listing.info(session)

    def unreadable(self) -> list[str]:
        """Return what is wrong with each file that `sessions` skips."""
        with self._changed:
            return self._listing.problems()

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        """Wait until the head is not `head`; return False if `timeout` seconds pass first."""
        return self._wait_until(lambda: self.session_head(session).head != head, timeout)

    def revision(self) -> int:
        """Return a number that grows when a file of the folder changes. It belongs to this object."""
        with self._changed:
            return self._change_feed().revision()

    def changed(self, since: int) -> list[SessionChange]:
        """Return the sessions whose files changed after a revision, the oldest change first."""
        with self._changed:
            return self._change_feed().changed(since)

    def wait_any(self, revision: int, timeout: float) -> bool:
        """Wait until the revision is not `revision`; return False if `timeout` seconds pass first."""
        return self._wait_until(lambda: self.revision() != revision, timeout)

    def check(self, _progress: ProgressCallback | None = None) -> Iterator[Finding]:
        """Check the integrity of the folder and its files, file by file."""
        # Late, because few commands need it.
        from tildone.stores.pi.examination import findings  # noqa: PLC0415  see above

        return findings(self._folder, self._recover)

    def compact(self) -> None:
        """Do nothing: a deleted session leaves no unused space in other files."""

    def close(self) -> None:
        """Drop the caches. A closed store must not be used again."""
        self._histories.clear()

    def _read(self, session: str, ask: Callable[[History], T]) -> T | None:
        """Call `ask` with the history of the session; return None if it has no file."""
        with self._changed:
            return self._histories.use(session, lambda history: None if history is None else ask(history))

    def _change(self, session: str, work: Callable[[History | None, FolderLock], T]) -> T:
        """Run `work` on the session's file under the folder's lock, and wake waiters."""
        # The folder's lock comes first: other threads of this process can read while this one waits for it.
        with FolderLock(self._folder.path, self._timeout) as lock, self._changed:
            result = self._histories.use(session, lambda history: work(history, lock))
            self._changed.notify_all()
        return result

    def _change_feed(self) -> ChangeFeed:
        if self._feed is None:
            # Late, because few callers follow all sessions.
            from tildone.stores.pi.feed import ChangeFeed  # noqa: PLC0415  see above

            self._feed = ChangeFeed(self._folder, self._histories, self._clock())
        return self._feed

    def _wait_until(self, is_reached: Callable[[], bool], timeout: float) -> bool:
        # Late, because few callers wait.
        from tildone.stores.polling import wait_until  # noqa: PLC0415  see above

        return wait_until(self._changed, is_reached, timeout)

    def _path(self, session: str, head: str, limit: int) -> list[Event]:
        """Return up to `limit` events from `head` towards the root."""

        def newest_first(history: History) -> list[Event]:
            at = history.find(head)
            return [] if at is None else history.newest_first(at, limit)

        if events := self._read(session, newest_first):
            return events
        raise UnknownEvent(head)

    def _ancestors(self, session: str, newest: list[Event]) -> Iterator[Event]:
        limit = 1
        yield from newest
        while (parent := newest[-1].parent) is not None:
            limit = min(2 * limit, _MAX_BATCH_EVENTS)
            yield from (newest := self._path(session, parent, limit))

    def _in_order(self, session: str, names: list[str]) -> Iterator[Event]:
        for start in range(0, len(names), _MAX_BATCH_EVENTS):
            batch = names[start : start + _MAX_BATCH_EVENTS]
            yield from self._read(session, partial(History.read_events, names=batch)) or []
