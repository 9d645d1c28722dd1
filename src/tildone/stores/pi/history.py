"""The history of a plan in a session file: which entries are its events, and what hangs under what."""

from __future__ import annotations

from tildone.errors import StoreDamaged, UnknownEvent
from tildone.log import codec
from tildone.log.events import Call, Labelled, PlanChanged
from tildone.log.tree import SessionHead
from tildone.stores.pi import entries as pi
from tildone.stores.pi.outline import Outline
from tildone.stores.pi.tree import MISSING, ROOT
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from tildone.log.events import Event
    from tildone.stores.pi.entries import PlanInEntry
    from tildone.stores.pi.tree import Tree

    Entry = dict[str, Any]

LOOK_UP = 200
"""How far above a tool's result its call is looked for: calls that are made at once are answered in a row."""


class History:
    """What a session file says of a plan, as of the newest `refresh`.

    An event hangs under the nearest event above it, and the head is the nearest one above the last entry: whatever
    stands in between is another's affair.

    Raises:
        StoreDamaged: what was asked for is found by way of a line that cannot be read. So may any method.
        Changed: the file was put out of the way meanwhile. So may any method but `refresh`.
    """

    def __init__(self, path: str, recover: PlanInEntry) -> None:
        self.outline = Outline(path)
        self._recover = recover
        self._stands: tuple[int, SessionHead] = (0, SessionHead())

    @property
    def _tree(self) -> Tree:
        return self.outline.tree

    @property
    def session(self) -> str:
        """The session's name."""
        return str(self.outline.header["id"])

    def refresh(self) -> bool:
        """Read what is new; False when the file is no more."""
        return self.outline.refresh()

    def session_head(self) -> SessionHead:
        """Where the session stands."""
        if self._stands[0] != self.outline.looks:
            self._stands = self.outline.looks, self._found_place()
        return self._stands[1]

    def find(self, event_id: str) -> int | None:
        """The position of the event of that id."""
        renamed = (at for at, called in self._tree.called.items() if called == event_id)
        at = next(renamed, self._tree.position(event_id))
        return at if at is not None and self.is_event(at) and self.name(at) == event_id else None

    def name(self, at: int) -> str:
        """The id of the event at a position."""
        return self._tree.called[at] if at in self._tree.called else self._tree.name(at)

    def is_event(self, at: int) -> bool:
        """Whether the entry at a position is an event."""
        tree = self._tree
        if at in tree.own or at not in tree.maybe:
            return at in tree.own
        if at not in tree.verdicts:
            entry = self.outline.entry(at)
            tree.verdicts[at] = None if entry is None else self._is_foreign_event(at, entry)
        return bool(tree.verdicts[at])

    def positions(self) -> list[int]:
        """The positions of all events, in the order they were written.

        Of several entries of one id the last counts, as it does for pi.
        """
        tree = self._tree
        with self.outline:
            return [at for at in tree.maybe if tree.positions[tree.ids[at]] == at and self.is_event(at)]

    def names(self) -> list[str]:
        """The ids of all events, in the order they were written."""
        return [self.name(at) for at in self.positions()]

    def told(self, names: Iterable[str]) -> list[Event]:
        """The events of these ids.

        Raises:
            UnknownEvent: one of them is not here.
        """
        with self.outline:
            return [self.event(self._known(name)) for name in names]

    def left_out(self) -> tuple[tuple[str, int], ...]:
        """The kinds of entries that are not of the plan, and how many there are of each; the most first."""
        outline = self.outline
        counted = dict(self._tree.kinds)
        with outline:
            for at, kind in self._tree.maybe.items():
                if not self.is_event(at) and pi.redo_in(outline.entry(at) or {}) is None:
                    counted[kind] = counted.get(kind, 0) + 1
        most_first = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
        return tuple((kind.decode("utf-8", "replace"), number) for kind, number in most_first)

    def has_events(self) -> bool:
        """Whether a plan was ever here."""
        with self.outline:
            return any(map(self.is_event, self._tree.maybe))

    def is_all_ours(self) -> bool:
        """Whether nobody but tildone has written to the file."""
        outline = self.outline
        with outline:
            others = (at for at in self._tree.maybe if at not in self._tree.own)
            return not self._tree.kinds and all(pi.redo_in(outline.entry(at) or {}) is not None for at in others)

    def leaves(self) -> list[str]:
        """The ends of the plan's branches, in the order they were written."""
        with self.outline:
            events = self.positions()
            parents = {self.above(at) for at in events}
        return [name for at in events if (name := self.name(at)) not in parents]

    def above(self, at: int) -> str | None:
        """The id of the event that the one at a position hangs under."""
        parent = self._nearest(self._tree.parents[at])
        if parent == MISSING:
            raise self.outline.gap(at)
        return self.name(parent) if parent >= 0 else None

    def event(self, at: int) -> Event:
        """The event at a position."""
        with self.outline:
            entry, parent = self.outline.entry(at), self.above(at)
            exact = pi.exact_event(entry or {})
            if entry is None or exact is None:
                return self._foreign_event(at, entry, parent)
            try:
                event = codec.event_from_json(exact)
            except codec.UndecodableEvent as error:
                raise self.outline.damage(at, f"is damaged: {error}") from error
        return event if event.parent == parent else replace(event, parent=parent)

    def way(self, at: int, most: int) -> list[Event]:
        """The event at a position and those above it, newest first, as many as are wanted and can be read."""
        found: list[Event] = []
        with self.outline:
            while at >= 0 and len(found) < most:
                try:
                    found.append(self.event(at))
                except StoreDamaged:
                    if not found:
                        raise
                    break
                at = self._nearest(self._tree.parents[at])
        return found

    def leaf(self) -> str | None:
        """The last entry: what is added hangs under it."""
        at = self.outline.leaf
        return self._tree.name(at) if at >= 0 else None

    def before_first(self) -> str | None:
        """The entry, at the last one or above it, that no event is above: what a new beginning hangs under."""
        outline = self.outline
        at = outline.leaf
        with outline:
            while (near := self._nearest(at)) >= 0:
                at = self._tree.parents[near]
        if near == MISSING:
            raise outline.gap(outline.leaf)
        return self._tree.name(at) if at >= 0 else None

    def _known(self, event_id: str) -> int:
        at = self.find(event_id)
        if at is None:
            raise UnknownEvent(event_id)
        return at

    def _found_place(self) -> SessionHead:
        outline = self.outline
        with outline:
            head = self._nearest(outline.leaf)
            if head == MISSING:
                raise outline.gap(outline.leaf)
            return SessionHead(self.name(head) if head >= 0 else None, self._ahead(head))

    def _ahead(self, head: int) -> tuple[str, ...]:
        """The way forward that the newest move on this branch has left open, if nothing came after it."""
        at = self._tree.nearest(self.outline.leaf)
        while at >= 0 and at != head:
            ahead = pi.redo_in(self.outline.entry(at) or {})
            if ahead is not None:
                return ahead
            at = self._tree.nearest(self._tree.parents[at])
        return ()

    def _nearest(self, at: int) -> int:
        """The position of the nearest event, at a position or above it; ROOT or MISSING where there is none."""
        near = self._tree.nearest(at)
        while near >= 0 and not self.is_event(near):
            if self._tree.verdicts[near] is None:
                raise self.outline.damage(near, "cannot be read, and others hang on it")
            near = self._tree.nearest(self._tree.parents[near])
        return near

    def _is_foreign_event(self, at: int, entry: Entry) -> bool:
        fact = pi.foreign_fact(entry, self._recover)
        if isinstance(fact, Labelled):
            return self._labelled(at, fact.target) is not None
        return fact is not None

    def _labelled(self, at: int, entry_id: str) -> str | None:
        """The event that a name for an entry is taken for the name of: the nearest above that is no name itself."""
        named = self._tree.position(entry_id)
        near = self._tree.nearest(named) if named is not None and named < at else ROOT
        while near >= 0 and (self._tree.maybe[near] == b"label" or not self.is_event(near)):
            near = self._tree.nearest(self._tree.parents[near])
        return self.name(near) if near >= 0 else None

    def _foreign_event(self, at: int, entry: Entry | None, parent: str | None) -> Event:
        fact = pi.foreign_fact(entry, self._recover) if entry else None
        if entry is None or fact is None:
            raise self.outline.damage(at, "cannot be read")
        match fact:
            case Labelled(target, label):
                fact = Labelled(self._labelled(at, target) or target, label)
            case PlanChanged(plan) if entry["type"] == "message":
                fact = PlanChanged(plan, self._call(at, entry["message"]))
            case _:
                pass
        return pi.foreign_event(entry, fact, parent)

    def _call(self, at: int, result: Entry) -> Call:
        """The call that a result answers; without its arguments if it is not where it should be."""
        for _ in range(LOOK_UP):
            at = self._tree.parents[at]
            entry = self.outline.entry(at) if at >= 0 else None
            if entry is None:
                break
            if pi.assistant_parts(entry) is not None:
                return pi.call_in(entry, result.get("toolCallId")) or Call(result["toolName"], "{}")
        return Call(result["toolName"], "{}")
