"""Lines to append to a session file, or to create one with: events, and the head after them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from tildone.base import NotFound, StoreError, UnknownEvent, durable, value
from tildone.base.private import SHARED_FILE
from tildone.plan.events import Event, Labelled, SessionHead
from tildone.stores.pi.entries import PlanInEntry, deletion_line, event_line, head_line
from tildone.stores.pi.history import History
from tildone.stores.pi.outline import FileReplaced
from tildone.stores.pi.session_file import format_line, header


class Draft:
    """The lines to append to the file of `history`; without one, the content of a new file.

    The entry of an event that follows the head becomes a child of the last entry, whichever program wrote that; any
    other becomes a child of its parent's entry.
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
        """The lines, joined."""
        return b"".join(self.lines)

    def filled(self, events: Iterable[Event], to: SessionHead, at: int) -> Draft:
        """Add these events and set the head."""
        for event in events:
            self.add(event)
        self.set_head(to, at)
        return self

    def add(self, event: Event) -> None:
        """Add an event.

        Raises:
            UnknownEvent: its parent is neither in the file nor in the draft.
        """
        parent = self._parent_entry(event.parent)
        self.begun = self.begun if self.lines else event.at
        entry_id = event.id if event.id and not self._is_taken(event.id) else self._new_id()
        target = self._entry_of(event.fact.target) or event.fact.target if isinstance(event.fact, Labelled) else ""
        self.lines.append(event_line(event, entry_id, parent, target, self._batch))
        self._entries[event.id] = entry_id
        self._appended(entry_id, SessionHead(event.id))

    def set_head(self, to: SessionHead, at: int) -> None:
        """Set the head unless it is set already; this also closes a batch.

        Raises:
            UnknownEvent: the new head is neither in the file nor in the draft.
        """
        parent = self._parent_entry(to.head)
        if to != self.session_head or self._batch:
            entry_id = self._new_id()
            self.lines.append(head_line(to, entry_id, parent, at, self._batch))
            self._appended(entry_id, to)

    def delete_plan(self, at: int) -> None:
        """Add the entry that deletes the plan."""
        self.lines.append(deletion_line(self._new_id(), self._leaf, at))

    def has(self, event_id: str) -> bool:
        """Return whether an event is in the file or in the draft."""
        return self._entry_of(event_id) is not None

    def _parent_entry(self, event_id: str | None) -> str | None:
        """Return the id of the entry below which a child of this event is appended."""
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

    def _appended(self, entry_id: str, head: SessionHead) -> None:
        self._taken.add(entry_id)
        self._leaf, self.session_head = entry_id, head

    def _is_taken(self, entry_id: str) -> bool:
        return entry_id in self._taken or (
            self._history is not None and self._history.outline.tree.position(entry_id) is not None
        )

    def _new_id(self) -> str:
        """Return a new entry id that is used neither in the file nor in the draft."""
        while self._is_taken(entry_id := new_id()):
            pass
        return entry_id


def unknown_events(session: str, history: History | None, events: Iterable[Event]) -> list[Event]:
    """Return those of `events` that are not in a file yet.

    Raises:
        StoreError: the file has a different event with the same id.
    """
    new: dict[str, Event] = {}
    for event in events:
        at = history.find(event.id) if history else None
        known = new.setdefault(event.id, event) if history is None or at is None else history.event(at)
        if known != event:
            raise StoreError(f"{session!r} has a different event {event.id!r}")
    return list(new.values())


def import_draft(history: History | None, new: Sequence[Event], to: SessionHead, at: int) -> Draft:
    """Draft an import that takes effect whole or not at all.

    Raises:
        UnknownEvent: the parent of an event, or the new head, is neither in the file nor among them.
    """
    draft = Draft(history).filled(new, to, at)
    # A new file is created atomically, but a crash may tear an append of several lines apart, so they form a batch.
    is_atomic = history is None or len(draft.lines) <= 1
    return draft if is_atomic else Draft(history, new_id()).filled(new, to, at)


def new_id() -> str:
    """Return a random entry id in pi's form: eight hexadecimal digits."""
    return os.urandom(4).hex()


@value
class PiHistory:
    """The events in a session file; `skipped_entries` counts the other entries by type."""

    session: str
    cwd: str
    events: tuple[Event, ...]
    session_head: SessionHead
    skipped_entries: tuple[tuple[str, int], ...]


def read_history(path: str, recover: PlanInEntry) -> PiHistory:
    """Read the events in a session file of any version. The file is not changed.

    Raises:
        NotFound: there is no such file.
        StoreDamaged: it is not a session file, or the parent of an event cannot be read.
        StoreTooNew: a newer pi wrote it.
        StoreError: it cannot be read.
    """
    history = History(path, recover)
    if not history.refresh():
        raise NotFound(f"no session file {path}")
    try:
        with history.outline:
            events = tuple(map(history.event, history.positions()))
            head, skipped = history.session_head(), history.skipped_entries()
    except FileReplaced as error:
        raise StoreError(f"{path} was changed while it was read: try again") from error
    cwd = history.outline.header.get("cwd")
    return PiHistory(history.session, cwd if isinstance(cwd, str) else "", events, head, skipped)


def write_history(path: str, session: str, cwd: str, events: Sequence[Event], head: SessionHead) -> None:
    """Write a new session file with these events and that head, completely or not at all.

    Each event must follow its parent.

    Raises:
        UnknownEvent: the parent of an event, or the head, is not among the events before it.
        StoreError: the file exists already, or it cannot be written.
    """
    newest = max((event.at for event in events), default=0)
    draft = Draft(None).filled(events, head, newest)
    content = format_line(header(session, cwd, draft.begun)) + draft.text
    durable.make_folder(os.path.dirname(path) or ".")
    try:
        # Exported to be shared, so unlike a store it has the permissions of any new file.
        durable.create(path, content, f"{path}.{os.urandom(6).hex()}.tmp", mode=SHARED_FILE)
    except FileExistsError as error:
        raise StoreError(f"{path} exists already and was not changed") from error
