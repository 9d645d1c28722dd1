"""Sessions kept in a folder of pi's session files, one file a session: pi opens them, and they may be pi's own."""

from __future__ import annotations

import os
from functools import partial
from threading import Condition
from time import monotonic, time_ns

from tildone.errors import HeadMoved, StoreError, UnknownEvent
from tildone.files import durable
from tildone.files.lock import FolderLock
from tildone.log.tree import SessionHead, SessionInfo
from tildone.stores.pi.drafts import Draft, import_draft, unknown_events
from tildone.stores.pi.folder import Folder
from tildone.stores.pi.history import History
from tildone.stores.pi.listing import Listing
from tildone.stores.pi.outline import FileReplaced
from tildone.stores.pi.session_file import VERSION, format_line, header, upgrade_file
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    from tildone.log.events import Event
    from tildone.log.health import Finding
    from tildone.log.store import Progress
    from tildone.stores.pi.entries import PlanInEntry

    T = TypeVar("T")

TIMEOUT_SECONDS = 30.0

FIRST_POLL_SECONDS = 0.005
LONGEST_POLL_SECONDS = 0.05

_MOST_AT_ONCE = 64
_MOST_KNOWN = 32
_TRIES = 5


class JsonlStore:
    """A store in a folder of session files. What it has acknowledged is on disk.

    Entries of others are never touched. `recover` gives the plan that an entry of another program carries, if any.

    Raises:
        StoreError: the folder or a file cannot be used; which of the family says why. Any method may raise it.
    """

    durable = True

    def __init__(
        self,
        folder: str | os.PathLike[str],
        recover: PlanInEntry,
        *,
        timeout: float = TIMEOUT_SECONDS,
        clock: Callable[[], int] = time_ns,
    ) -> None:
        # Made absolute, so that a change of folder does no harm.
        self._folder = Folder(os.path.abspath(folder))
        self._recover = recover
        self._timeout = timeout
        self._clock = clock
        self._changed = Condition()
        self._known: dict[str, History] = {}
        self._listing = Listing(self._folder, recover)
        # Whatever is wrong with the folder is told now.
        self._folder.paths()

    def session_head(self, session: str) -> SessionHead:
        """Where the session stands."""
        return self._read(session, History.session_head) or SessionHead()

    def history(self, session: str, head: str | None = None) -> Iterator[Event]:
        """The events from `head` (the session's own, unless another is named) to the root, newest first.

        Raises:
            UnknownEvent: `head` is not in this session.
        """
        newest = self.session_head(session).head if head is None else head
        return iter(()) if newest is None else self._backwards(session, self._way(session, newest, 1))

    def events(self, session: str) -> Iterator[Event]:
        """Every event of every branch, in the order they were written."""
        return self._in_order(session, self._read(session, History.names) or [])

    def append(self, session: str, event: Event) -> None:
        """Hang `event` under the head and make it the head; on disk when this returns.

        Raises:
            HeadMoved: `event.parent` is no longer the head.
        """

        def add(history: History | None, lock: FolderLock) -> None:
            draft = Draft(history)
            if draft.session_head.head != event.parent:
                raise HeadMoved(session)
            if draft.has(event.id):
                raise StoreError(f"{session!r} has an event {event.id!r} already")
            draft.add(event)
            self._write(session, history, draft, lock.next_mtime(self._clock()))

        self._change(session, add)

    def move_head(self, session: str, to: SessionHead, *, expected: str | None) -> None:
        """Make another event the head.

        Raises:
            HeadMoved: the head is no longer `expected`.
            UnknownEvent: the place names an event that is not in this session.
        """

        def go(history: History | None, _lock: FolderLock) -> None:
            draft = Draft(history)
            if draft.session_head.head != expected:
                raise HeadMoved(session)
            draft.stand(to, self._clock() // 1_000_000)
            if history is not None and history.has_events():
                self._write(session, history, draft)

        self._change(session, go)

    def import_events(self, session: str, events: Iterable[Event], to: SessionHead) -> int:
        """Take over events as another store has them, wherever the head is, and stand at `to`: all of it or nothing.

        Raises:
            UnknownEvent: the parent of an event, or the head to stand at, is neither here nor among them.
            StoreError: another event of the same id is here.
        """
        theirs = list(events)

        def take_over(history: History | None, lock: FolderLock) -> int:
            new = unknown_events(session, history, theirs)
            draft = import_draft(history, new, to, self._clock() // 1_000_000)
            if new:
                self._write(session, history, draft, lock.next_mtime(self._clock()))
            elif history is not None and history.has_events():
                self._write(session, history, draft)
            return len(new)

        return self._change(session, take_over)

    def delete(self, session: str, *, expected: str | None) -> None:
        """Remove the session and all its events. What others have written to its file stays.

        Raises:
            HeadMoved: the head is not `expected`: somebody is at work on it.
        """

        def let_go(history: History | None, _lock: FolderLock) -> None:
            draft = Draft(history)
            if draft.session_head.head != expected:
                raise HeadMoved(session)
            if history is None or not history.has_events():
                return
            if history.is_all_ours():
                durable.remove(history.outline.path)
            else:
                draft.forget(self._clock() // 1_000_000)
                self._write(session, history, draft)

        self._change(session, let_go)

    def leaves(self, session: str) -> list[str]:
        """The ends of the session's branches, in the order they were written."""
        return self._read(session, History.leaves) or []

    def sessions(self) -> list[SessionInfo]:
        """Every session, the one written to last first. A file that cannot be read is passed over."""
        with self._changed:
            return self._listing.infos()

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        """Wait until the head is not `head`; False when `timeout` seconds passed first.

        A change made through this object is noticed at once, one made elsewhere within a twentieth of a second.
        """
        until = monotonic() + timeout
        pause = FIRST_POLL_SECONDS
        with self._changed:
            while self.session_head(session).head == head:
                left = until - monotonic()
                if left <= 0:
                    return False
                self._changed.wait(min(pause, left))
                pause = min(pause * 1.5, LONGEST_POLL_SECONDS)
        return True

    def check(self, _progress: Progress | None = None) -> Iterator[Finding]:
        """What is to be said of the health of the folder and its files, piece by piece as it is found."""
        # Late, because few ask.
        from tildone.stores.pi.examination import findings  # noqa: PLC0415  see above

        return findings(self._folder, self._recover)

    def compact(self) -> None:
        """Nothing: a deleted session leaves no unused space in other files."""

    def close(self) -> None:
        """Let go of what was read. A closed store is not used again."""
        self._known.clear()

    def _read(self, session: str, ask: Callable[[History], T]) -> T | None:
        """What the session's file has to say; None if there is no such file."""
        with self._changed:
            return self._tried(session, lambda history: None if history is None else ask(history))

    def _change(self, session: str, work: Callable[[History | None, FolderLock], T]) -> T:
        """Do something to the session's file while nobody else does."""
        # In this order: who waits for another process keeps no thread of this one from reading.
        with FolderLock(self._folder.path, self._timeout) as lock, self._changed:
            done = self._tried(session, lambda history: work(history, lock))
            self._changed.notify_all()
        return done

    def _tried(self, session: str, work: Callable[[History | None], T]) -> T:
        for _ in range(_TRIES):
            try:
                return work(self._history(session))
            except FileReplaced:
                self._known.pop(session, None)
        raise StoreError(f"{self._folder.path}: the file of {session!r} is replaced faster than it can be read")

    def _history(self, session: str) -> History | None:
        """What the session's file holds, as it is now. The files that were asked for last are remembered."""
        known = self._known.pop(session, None)
        if known is None or not known.refresh() or known.session != session:
            path = self._folder.find(session)
            known = History(path, self._recover) if path else None
            if known is None or not known.refresh():
                return None
        self._known[session] = known
        if len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return known

    def _write(self, session: str, history: History | None, draft: Draft, moment: int | None = None) -> None:
        """Put on disk what was drafted. Without a moment, the file stays as old as it is."""
        draft_path = os.path.join(self._folder.path, durable.DRAFT_FILE)
        if history is None:
            first = format_line(header(session, _working_folder(session), draft.begun))
            _begun(self._folder.new_paths(session, draft.begun), first + draft.text, draft_path, moment)
        elif draft.text:
            path, written = history.outline.path, history.outline.written
            if history.outline.version < VERSION:
                upgrade_file(path, draft_path)
            durable.append(path, draft.text, written if moment is None else moment)

    def _way(self, session: str, head: str, most: int) -> list[Event]:
        def events(history: History) -> list[Event]:
            at = history.find(head)
            return [] if at is None else history.way(at, most)

        found = self._read(session, events)
        if not found:
            raise UnknownEvent(head)
        return found

    def _backwards(self, session: str, newest: list[Event]) -> Iterator[Event]:
        most = 1
        while True:
            yield from newest
            above = newest[-1].parent
            if above is None:
                return
            most = min(2 * most, _MOST_AT_ONCE)
            newest = self._way(session, above, most)

    def _in_order(self, session: str, names: list[str]) -> Iterator[Event]:
        for start in range(0, len(names), _MOST_AT_ONCE):
            some = names[start : start + _MOST_AT_ONCE]
            yield from self._read(session, partial(History.told, names=some)) or []


def _begun(paths: Iterator[str], content: bytes, draft_path: str, moment: int | None) -> None:
    """Make a file under the first of these names that is free."""
    for path in paths:
        try:
            durable.create(path, content, draft_path, moment)
        except FileExistsError:
            continue
        return


def _working_folder(session: str) -> str:
    """The folder that pi will take the session to be about."""
    if os.path.isabs(session):
        return session
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""
