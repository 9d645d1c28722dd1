"""Lines to append to a session file, or to create one with: events, and the head after them."""

from __future__ import annotations

import os

from tildone.errors import StoreError, UnknownEvent
from tildone.log.events import Labelled
from tildone.log.tree import SessionHead
from tildone.stores.pi.entries import deletion_line, event_line, head_line
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tildone.log.events import Event
    from tildone.stores.pi.history import History


class Draft:
    """What is to be appended to the file of `history`; without one, the content of a new file.

    The entry of an event that follows the head becomes a child of the last entry, whatever that is; any other becomes a
    child of its parent's entry.
    """

    def __init__(self, history: History | None, batch: str = "") -> None:
        self.lines: list[bytes] = []
        self.begun = 0
        self.session_head = history.session_head() if history else SessionHead()
        self._history = history
        self._batch = batch
        self._leaf = history.leaf() if history else None
        self._entries: dict[str, str] = {}
        self._taken: set[str] = set()

    @property
    def text(self) -> bytes:
        """The lines as one text."""
        return b"".join(self.lines)

    def filled(self, events: Iterable[Event], to: SessionHead, at: int) -> Draft:
        """Add these events and set the head."""
        for event in events:
            self.add(event)
        self.stand(to, at)
        return self

    def add(self, event: Event) -> None:
        """Add an event.

        Raises:
            UnknownEvent: its parent is neither in the file nor in the draft.
        """
        parent = self._under(event.parent)
        self.begun = self.begun if self.lines else event.at
        entry_id = event.id if event.id and not self._is_taken(event.id) else self._new_id()
        target = self._entry_of(event.fact.target) or event.fact.target if isinstance(event.fact, Labelled) else ""
        self.lines.append(event_line(event, entry_id, parent, target, self._batch))
        self._entries[event.id] = entry_id
        self._appended(entry_id, SessionHead(event.id))

    def stand(self, to: SessionHead, at: int) -> None:
        """Set the head, unless the last entry does so already; this also closes a batch.

        Raises:
            UnknownEvent: its head is neither in the file nor in the draft.
        """
        parent = self._under(to.head)
        if to != self.session_head or self._batch:
            entry_id = self._new_id()
            self.lines.append(head_line(to, entry_id, parent, at, self._batch))
            self._appended(entry_id, to)

    def forget(self, at: int) -> None:
        """Delete the plan."""
        self.lines.append(deletion_line(self._new_id(), self._leaf, at))

    def has(self, event_id: str) -> bool:
        """Whether an event is in the file or in the draft."""
        return self._entry_of(event_id) is not None

    def _under(self, event_id: str | None) -> str | None:
        """The id of the entry that becomes the parent of a child of this event."""
        if event_id == self.session_head.head:
            return self._leaf
        if event_id is None:
            return self._history.before_first() if self._history else None
        entry_id = self._entry_of(event_id)
        if entry_id is None:
            raise UnknownEvent(event_id)
        return entry_id

    def _entry_of(self, event_id: str) -> str | None:
        if event_id in self._entries:
            return self._entries[event_id]
        at = self._history.find(event_id) if self._history else None
        return self._history.outline.tree.name(at) if self._history and at is not None else None

    def _appended(self, entry_id: str, place: SessionHead) -> None:
        self._taken.add(entry_id)
        self._leaf, self.session_head = entry_id, place

    def _is_taken(self, entry_id: str) -> bool:
        return entry_id in self._taken or (
            self._history is not None and self._history.outline.tree.position(entry_id) is not None
        )

    def _new_id(self) -> str:
        """A new entry id that is not used in the file."""
        while self._is_taken(entry_id := new_id()):
            pass
        return entry_id


def unknown_events(session: str, history: History | None, theirs: Iterable[Event]) -> list[Event]:
    """The events that are not in a file yet.

    Raises:
        StoreError: a different event with the same id is there.
    """
    new: dict[str, Event] = {}
    for event in theirs:
        at = history.find(event.id) if history else None
        here = new.setdefault(event.id, event) if history is None or at is None else history.event(at)
        if here != event:
            raise StoreError(f"{session!r} has another event {event.id!r}")
    return list(new.values())


def import_draft(history: History | None, new: Sequence[Event], to: SessionHead, at: int) -> Draft:
    """Draft an import that takes effect whole or not at all.

    Raises:
        UnknownEvent: the parent of an event, or the new head, is neither in the file nor among them.
    """
    draft = Draft(history).filled(new, to, at)
    # A new file is created whole. Several appended lines could be torn between two of them, so they form a batch.
    at_once = history is None or len(draft.lines) <= 1
    return draft if at_once else Draft(history, new_id()).filled(new, to, at)


def new_id() -> str:
    """A random entry id in pi's form: eight hexadecimal digits."""
    return os.urandom(4).hex()
