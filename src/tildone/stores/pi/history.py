"""The events in a session file, and their tree; drafts: lines to append to it, or to create one with.

The entries of events are interleaved with entries of other programs, such as messages. The parent of an event is the
nearest event among its entry's ancestors, and the head is the event nearest to the file's last entry. So a branch
switch in pi moves the head, and messages that pi appends after an event do not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from tildone.base import NotFound, StoreDamaged, StoreError, UnknownEvent, durable, replace, value
from tildone.base.private import SHARED_FILE
from tildone.plan import codec
from tildone.plan.events import Call, Event, Labelled, PlanChanged, SessionHead
from tildone.stores.pi import entries as pi
from tildone.stores.pi.entries import PlanInEntry
from tildone.stores.pi.outline import MISSING, ROOT, FileReplaced, Outline, Tree
from tildone.stores.pi.session_file import format_line, header

Entry = dict[str, Any]

MAX_CALL_DISTANCE = 200
"""How many ancestors of a tool result are searched for its call: parallel calls are answered in a row."""

MAX_ENTRIES_SEARCHED = 20
"""How many entries from the beginning are searched for the first prompt."""


class History:
    """The events in a session file, as of the last `refresh`.

    Raises StoreDamaged if a line that is needed cannot be parsed. Any method may raise it. Raises FileReplaced if the
    file was replaced since the last `refresh`. Any method but `refresh` may raise it.
    """

    def __init__(self, path: str, recover: PlanInEntry) -> None:
        self.outline = Outline(path)
        self._recover = recover
        self._cached_head: tuple[int, SessionHead] = (0, SessionHead())

    @property
    def _tree(self) -> Tree:
        return self.outline.tree

    @property
    def session(self) -> str:
        return str(self.outline.header["id"])

    def refresh(self) -> bool:
        return self.outline.refresh()

    def session_head(self) -> SessionHead:
        if self._cached_head[0] != self.outline.revision:
            self._cached_head = self.outline.revision, self._find_head()
        return self._cached_head[1]

    def find(self, event_id: str) -> int | None:
        renamed = (at for at, name in self._tree.event_ids.items() if name == event_id)
        at = next(renamed, self._tree.position(event_id))
        return at if at is not None and self.is_event(at) and self.name(at) == event_id else None

    def name(self, at: int) -> str:
        return self._tree.event_ids[at] if at in self._tree.event_ids else self._tree.name(at)

    def is_event(self, at: int) -> bool:
        tree = self._tree
        if at in tree.own or at not in tree.candidates:
            return at in tree.own
        if at not in tree.verdicts:
            entry = self.outline.entry(at)
            tree.verdicts[at] = None if entry is None else self._is_foreign_event(at, entry)
        return bool(tree.verdicts[at])

    def positions(self) -> list[int]:
        """Return the positions of all events, in the order they were written.

        If several entries have the same id, the last counts, as in pi.
        """
        tree = self._tree
        with self.outline:
            return [at for at in tree.candidates if tree.positions[tree.ids[at]] == at and self.is_event(at)]

    def names(self) -> list[str]:
        return [self.name(at) for at in self.positions()]

    def read_events(self, names: Iterable[str]) -> list[Event]:
        """Read the events of these ids. Raises UnknownEvent if one of them is not in the file."""
        with self.outline:
            return [self.event(self._known(name)) for name in names]

    def skipped_entries(self) -> tuple[tuple[str, int], ...]:
        """Return the types of entries that are not events with their counts, the most frequent first."""
        outline = self.outline
        counts = dict(self._tree.kinds)
        with outline:
            for at, kind in self._tree.candidates.items():
                if not self.is_event(at) and pi.redo_in(outline.entry(at) or {}) is None:
                    counts[kind] = counts.get(kind, 0) + 1
        most_frequent_first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return tuple((kind.decode("utf-8", "replace"), number) for kind, number in most_frequent_first)

    def has_events(self) -> bool:
        with self.outline:
            return any(map(self.is_event, self._tree.candidates))

    def first_prompt(self) -> str:
        """Return the first prompt of the conversation; empty if the first entries have none."""
        with self.outline:
            for at in range(min(len(self._tree.parents), MAX_ENTRIES_SEARCHED)):
                text = pi.prompt_in(self.outline.entry(at) or {})
                if text:
                    return text
        return ""

    def is_all_ours(self) -> bool:
        """Return whether tildone alone has written to the file."""
        outline = self.outline
        with outline:
            others = (at for at in self._tree.candidates if at not in self._tree.own)
            return not self._tree.kinds and all(pi.redo_in(outline.entry(at) or {}) is not None for at in others)

    def leaves(self) -> list[str]:
        with self.outline:
            events = self.positions()
            parents = {self.parent(at) for at in events}
        return [name for at in events if (name := self.name(at)) not in parents]

    def parent(self, at: int) -> str | None:
        """Return the id of the parent of the event at a position."""
        parent = self._nearest(self._tree.parents[at])
        if parent == MISSING:
            raise self.outline.missing_parent_error(at)
        return self.name(parent) if parent >= 0 else None

    def event(self, at: int) -> Event:
        with self.outline:
            entry, parent = self.outline.entry(at), self.parent(at)
            exact = pi.exact_event(entry or {})
            if entry is None or exact is None:
                fact = pi.foreign_fact(entry, self._recover) if entry else None
                if entry is None or fact is None:
                    raise self.outline.line_error(at, "cannot be read")
                match fact:
                    case Labelled(target, label):
                        fact = Labelled(self._labelled_event(at, target) or target, label)
                    case PlanChanged(plan) if entry["type"] == "message":
                        fact = PlanChanged(plan, self._call(at, entry["message"]))
                    case _:
                        pass
                return pi.foreign_event(entry, fact, parent)
            try:
                event = codec.event_from_json(exact)
            except codec.UndecodableEvent as error:
                raise self.outline.line_error(at, f"is damaged: {error}") from error
        return event if event.parent == parent else replace(event, parent=parent)

    def newest_first(self, at: int, limit: int) -> list[Event]:
        """Return the event at a position and its ancestors, up to `limit` events or the first that cannot be read."""
        events: list[Event] = []
        with self.outline:
            while at >= 0 and len(events) < limit:
                try:
                    events.append(self.event(at))
                except StoreDamaged:
                    if not events:
                        raise
                    break
                at = self._nearest(self._tree.parents[at])
        return events

    def leaf(self) -> str | None:
        """Return the id of the last entry, the parent of the next one to be appended."""
        at = self.outline.leaf
        return self._tree.name(at) if at >= 0 else None

    def before_first(self) -> str | None:
        """Return the nearest ancestor of the last entry that has no event above it: the parent of a new root event."""
        outline = self.outline
        at = outline.leaf
        with outline:
            while (near := self._nearest(at)) >= 0:
                at = self._tree.parents[near]
        if near == MISSING:
            raise outline.missing_parent_error(outline.leaf)
        return self._tree.name(at) if at >= 0 else None

    def _known(self, event_id: str) -> int:
        at = self.find(event_id)
        if at is None:
            raise UnknownEvent(event_id)
        return at

    def _find_head(self) -> SessionHead:
        outline = self.outline
        with outline:
            head = self._nearest(outline.leaf)
            if head == MISSING:
                raise outline.missing_parent_error(outline.leaf)
            return SessionHead(self.name(head) if head >= 0 else None, self._redo(head))

    def _redo(self, head: int) -> tuple[str, ...]:
        """Return the redo list of the newest entry that set the head, unless an event follows it."""
        at = self._tree.nearest(self.outline.leaf)
        while at >= 0 and at != head:
            redo = pi.redo_in(self.outline.entry(at) or {})
            if redo is not None:
                return redo
            at = self._tree.nearest(self._tree.parents[at])
        return ()

    def _nearest(self, at: int) -> int:
        near = self._tree.nearest(at)
        while near >= 0 and not self.is_event(near):
            if self._tree.verdicts[near] is None:
                raise self.outline.line_error(near, "cannot be read, and later entries depend on it")
            near = self._tree.nearest(self._tree.parents[near])
        return near

    def _is_foreign_event(self, at: int, entry: Entry) -> bool:
        fact = pi.foreign_fact(entry, self._recover)
        if isinstance(fact, Labelled):
            return self._labelled_event(at, fact.target) is not None
        return fact is not None

    def _labelled_event(self, at: int, entry_id: str) -> str | None:
        """Return the event that a label applies to: the nearest to the labelled entry that is not a label itself."""
        named = self._tree.position(entry_id)
        near = self._tree.nearest(named) if named is not None and named < at else ROOT
        while near >= 0 and (self._tree.candidates[near] == b"label" or not self.is_event(near)):
            near = self._tree.nearest(self._tree.parents[near])
        return self.name(near) if near >= 0 else None

    def _call(self, at: int, result: Entry) -> Call:
        """Return the call that a result answers; without arguments if it is not found."""
        for _ in range(MAX_CALL_DISTANCE):
            at = self._tree.parents[at]
            entry = self.outline.entry(at) if at >= 0 else None
            if entry is None:
                break
            if pi.assistant_parts(entry) is not None:
                return pi.call_in(entry, result.get("toolCallId")) or Call(result["toolName"], "{}")
        return Call(result["toolName"], "{}")


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
        return b"".join(self.lines)

    def filled(self, events: Iterable[Event], to: SessionHead, at: int) -> Draft:
        for event in events:
            self.add(event)
        self.set_head(to, at)
        return self

    def add(self, event: Event) -> None:
        """Add an event. Raises UnknownEvent if its parent is neither in the file nor in the draft."""
        parent = self._parent_entry(event.parent)
        self.begun = self.begun if self.lines else event.at
        entry_id = event.id if event.id and not self._is_taken(event.id) else self._new_id()
        target = self._entry_of(event.fact.target) or event.fact.target if isinstance(event.fact, Labelled) else ""
        self.lines.append(pi.event_line(event, entry_id, parent, target, self._batch))
        self._entries[event.id] = entry_id
        self._appended(entry_id, SessionHead(event.id))

    def set_head(self, to: SessionHead, at: int) -> None:
        """Set the head unless it is set already; this also closes a batch.

        Raises UnknownEvent if the new head is neither in the file nor in the draft.
        """
        parent = self._parent_entry(to.head)
        if to != self.session_head or self._batch:
            entry_id = self._new_id()
            self.lines.append(pi.head_line(to, entry_id, parent, at, self._batch))
            self._appended(entry_id, to)

    def delete_plan(self, at: int) -> None:
        self.lines.append(pi.deletion_line(self._new_id(), self._leaf, at))

    def has(self, event_id: str) -> bool:
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
        while self._is_taken(entry_id := new_id()):
            pass
        return entry_id


def unknown_events(session: str, history: History | None, events: Iterable[Event]) -> list[Event]:
    """Return those of `events` that are not in a file yet. Raises StoreError if it has another event with that id."""
    new: dict[str, Event] = {}
    for event in events:
        at = history.find(event.id) if history else None
        known = new.setdefault(event.id, event) if history is None or at is None else history.event(at)
        if known != event:
            raise StoreError(f"{session!r} has a different event {event.id!r}")
    return list(new.values())


def import_draft(history: History | None, new: Sequence[Event], to: SessionHead, at: int) -> Draft:
    """Draft an import, whole or not at all. Raises UnknownEvent if a parent, or the new head, is in neither."""
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

    Each event must follow its parent. Raises UnknownEvent if the parent of an event, or the head, is not among the
    events before it, StoreError if the file exists already, or it cannot be written.
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
