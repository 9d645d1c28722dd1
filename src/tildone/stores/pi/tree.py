"""The tree of a file's entries.

An entry's position is its number in the file. Everything is kept in flat arrays: a session may have 100,000 entries, of
which most are never parsed.
"""

from __future__ import annotations

from array import array

from tildone.stores.pi import entries as pi
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    Entry = dict[str, Any]

ROOT, MISSING = -1, -2
"""Instead of a parent's position: the entry has no parent, or its parent is not in the file."""


class Tree:
    """The parents of entries, and which entries may be events.

    `maybe` holds the positions of possible events, with their entry types; `own` those that tildone wrote. `near` is,
    for each entry, the nearest possible event among itself and its ancestors. `called` holds the ids of events that
    differ from their entries' ids. `kinds` counts all other entries by type. `verdicts` caches whether a possible event
    is one: None means that its line cannot be parsed.
    """

    def __init__(self) -> None:
        self.ids: list[bytes] = []
        self.positions: dict[bytes, int] = {}
        self.offsets = array("q")
        self.parents = array("q")
        self.near = array("q")
        self.orphans: dict[int, bytes] = {}
        self.kinds: dict[bytes, int] = {}
        self.maybe: dict[int, bytes] = {}
        self.own: set[int] = set()
        self.called: dict[int, str] = {}
        self.verdicts: dict[int, bool | None] = {}

    def name(self, at: int) -> str:
        """The id of the entry at a position."""
        return self.ids[at].decode("utf-8", "surrogatepass")

    def position(self, entry_id: str) -> int | None:
        """The position of the entry of that id."""
        return self.positions.get(_kept(entry_id))

    def nearest(self, at: int) -> int:
        """`near` of a position; ROOT and MISSING stay what they are."""
        return self.near[at] if at >= 0 else at

    def orphan_above(self, at: int) -> tuple[str, str]:
        """The ancestor of an entry whose parent is missing, and the id of that parent."""
        while self.parents[at] >= 0:
            at = self.parents[at]
        return self.name(at), self.orphans[at].decode("utf-8", "surrogatepass")

    def add(self, entry_id: bytes, parent: bytes | None, offset: int) -> None:
        """Add an entry. Its parent was added before, or is missing."""
        position = len(self.ids)
        above = ROOT if parent is None else self.positions.get(parent, MISSING)
        if above == MISSING and parent is not None:
            self.orphans[position] = parent
        self.ids.append(entry_id)
        self.positions[entry_id] = position
        self.offsets.append(offset)
        self.parents.append(above)
        self.near.append(self.near[above] if above >= 0 else above)

    def add_maybe(self, kind: bytes, entry_id: bytes, parent: bytes | None, offset: int, *, own: bool) -> None:
        """Add an entry that may be an event, or, if tildone wrote it (`own`), is one."""
        self.add(entry_id, parent, offset)
        position = len(self.ids) - 1
        self.near[position] = position
        self.maybe[position] = kind
        if own:
            self.own.add(position)

    def add_record(self, record: Entry, offset: int) -> None:
        """Add a parsed entry."""
        kind, entry_id, parent = _kept(record["type"]), _kept(record["id"]), record.get("parentId")
        # As for pi, an empty parent is none.
        above = _kept(parent) if isinstance(parent, str) and parent else None
        if not pi.may_be_event(record):
            self.kinds[kind] = self.kinds.get(kind, 0) + 1
            self.add(entry_id, above, offset)
            return
        exact = pi.exact_event(record)
        self.add_maybe(kind, entry_id, above, offset, own=exact is not None)
        if exact is not None and exact["id"] != record["id"]:
            self.called[len(self.ids) - 1] = exact["id"]
        if pi.is_deletion(record):
            self._forget()

    def _forget(self) -> None:
        """The entries up to here are no events any more."""
        for kind in self.maybe.values():
            self.kinds[kind] = self.kinds.get(kind, 0) + 1
        self.near = array("q", [ROOT]) * len(self.near)
        self.maybe.clear()
        self.own.clear()
        self.called.clear()


def _kept(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
