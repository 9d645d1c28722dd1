"""A store in memory, which ends with the process."""

from __future__ import annotations

from threading import Condition

from tildone.errors import HeadMoved, StoreError, UnknownEvent
from tildone.log.seen import with_seen
from tildone.log.tree import SessionChange, SessionHead, SessionInfo, leaves
from tildone.stores.memory_records import MemoryRecords
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tildone.log.claims import Claim, ClaimFence
    from tildone.log.events import Event
    from tildone.log.findings import Finding
    from tildone.log.store import ProgressCallback


class MemoryStore(MemoryRecords):
    """A store for tests, experiments and agents that need no persistence. It has the contract of the durable ones."""

    durable = False
    user = ""

    def __init__(self) -> None:
        super().__init__(Condition())
        self._heads: dict[str, SessionHead] = {}
        self._by_last_write: dict[str, None] = {}
        self._seen: dict[str, dict[str, str]] = {}

    def session_head(self, session: str) -> SessionHead:
        """Return the head of the session and its redo list."""
        return self._heads.get(session, SessionHead())

    def history(self, session: str, head: str | None = None) -> Iterator[Event]:
        """Return the events from `head`, by default the session's own, to the root, newest first.

        Raises:
            UnknownEvent: `head` is not in this session.
        """
        events = self._events.get(session, {})
        newest = self.session_head(session).head if head is None else head
        if newest is not None and newest not in events:
            raise UnknownEvent(newest)
        return _ancestors(events, newest)

    def events(self, session: str) -> Iterator[Event]:
        """Return every event of every branch, in the order they were written."""
        return iter(tuple(self._events.get(session, {}).values()))

    def append(self, session: str, event: Event, seen_by: str = "") -> None:
        """Append `event` after the head and make it the head.

        Raises:
            HeadMoved: `event.parent` is no longer the head.
        """
        with self._changed:
            if self.session_head(session).head != event.parent:
                raise HeadMoved(session)
            events = self._events.setdefault(session, {})
            if event.id in events:
                raise StoreError(f"{session!r} has an event {event.id!r} already")
            events[event.id] = event
            self._written(session, SessionHead(event.id))
            if seen_by:
                self._set_seen(session, seen_by, event.id)

    def append_fenced(self, session: str, event: Event, seen_by: str, fence: ClaimFence) -> list[Claim]:
        """Append `event` if the fence allows it; return the claims that it takes.

        Raises:
            HeadMoved: `event.parent` is no longer the head.
            Fenced: tasks that the event changes, or that the writer had, are those of other agents.
        """
        with self._changed:
            after = self._claims_after(session, fence)
            self.append(session, event, seen_by)
            return self._set_claims(session, after)

    def move_head(self, session: str, to: SessionHead, *, expected: str | None) -> None:
        """Make another event the head.

        Raises:
            HeadMoved: the head is no longer `expected`.
            UnknownEvent: `to` names an event that is not in this session.
        """
        with self._changed:
            if self.session_head(session).head != expected:
                raise HeadMoved(session)
            events = self._events.get(session)
            if to.head is not None and to.head not in (events or {}):
                raise UnknownEvent(to.head)
            if events:
                self._set_head(session, to)

    def import_events(self, session: str, events: Iterable[Event], to: SessionHead) -> int:
        """Insert events of another store, whatever the current head, then set the head: all of it or nothing.

        Raises:
            UnknownEvent: the parent of an event, or the new head, is neither in this session nor among `events`.
            StoreError: this session has a different event with the same id.
        """
        with self._changed:
            known = self._events.get(session, {})
            new: dict[str, Event] = {}
            for event in events:
                if event.parent is not None and event.parent not in known and event.parent not in new:
                    raise UnknownEvent(event.parent)
                if (known.get(event.id) or new.setdefault(event.id, event)) != event:
                    raise StoreError(f"{session!r} has a different event {event.id!r}")
            if to.head is not None and to.head not in known and to.head not in new:
                raise UnknownEvent(to.head)
            if new:
                self._events.setdefault(session, {}).update(new)
                self._written(session, to)
            elif known:
                self._set_head(session, to)
            return len(new)

    def seen(self, session: str, reader: str) -> str | None:
        """Return the head that a reader has seen."""
        return self._seen.get(session, {}).get(reader)

    def set_seen(self, session: str, reader: str, head: str | None) -> None:
        """Record the head that a reader has seen; None removes the record."""
        with self._changed:
            self._set_seen(session, reader, head)

    def delete(self, session: str, *, expected: str | None) -> None:
        """Delete the session, all its events, and what is kept beside them.

        Raises:
            HeadMoved: the head is not `expected`: another writer is using the session.
        """
        with self._changed:
            if self.session_head(session).head != expected:
                raise HeadMoved(session)
            if session in self._events:
                for table in (self._events, self._heads, self._by_last_write, self._seen):
                    table.pop(session, None)
                self._forget(session)
                self._revise(session)

    def leaves(self, session: str) -> list[str]:
        """Return the newest event of each branch, in the order they were written."""
        return leaves(self.events(session))

    def sessions(self) -> list[SessionInfo]:
        """Return every session, the most recently written first."""
        with self._changed:
            return [_info(name, self._events[name]) for name in reversed(self._by_last_write)]

    def session_info(self, session: str) -> SessionInfo | None:
        """Return the entry of one session; None if it does not exist."""
        with self._changed:
            return _info(session, self._events[session]) if session in self._events else None

    def unreadable(self) -> list[str]:
        """Return nothing: `sessions` leaves nothing out."""
        return []

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        """Wait until the head is not `head`; return False if `timeout` seconds pass first."""
        with self._changed:
            return self._changed.wait_for(lambda: self.session_head(session).head != head, timeout)

    def revision(self) -> int:
        """Return the number of changes so far."""
        return self._changes.revision

    def changed(self, since: int) -> list[SessionChange]:
        """Return the sessions that changed after a revision, the oldest change first."""
        with self._changed:
            return [
                SessionChange(name, self.session_head(name).head, revision, exists=name in self._events)
                for name, revision in self._changes.after(since)
            ]

    def wait_any(self, revision: int, timeout: float) -> bool:
        """Wait until the revision is not `revision`; return False if `timeout` seconds pass first."""
        with self._changed:
            return self._changed.wait_for(lambda: self.revision() != revision, timeout)

    def check(self, _progress: ProgressCallback | None = None) -> Iterator[Finding]:
        """Return no findings: there is no file that could be damaged."""
        return iter(())

    def compact(self) -> None:
        """Do nothing: there is no file to compact."""

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def _set_seen(self, session: str, reader: str, head: str | None) -> None:
        if session in self._events:
            self._seen[session] = with_seen(self._seen.get(session, {}), reader, head)

    def _written(self, session: str, to: SessionHead) -> None:
        self._heads[session] = to
        self._by_last_write.pop(session, None)
        self._by_last_write[session] = None
        self._revise(session)

    def _set_head(self, session: str, to: SessionHead) -> None:
        if self._heads[session] != to:
            self._heads[session] = to
            self._revise(session)


def _ancestors(events: dict[str, Event], at: str | None) -> Iterator[Event]:
    while at is not None:
        yield events[at]
        at = events[at].parent


def _info(name: str, events: dict[str, Event]) -> SessionInfo:
    first, last = (events[next(ids)] for ids in (iter(events), reversed(events)))
    return SessionInfo(name, len(events), first.at, last.at)
