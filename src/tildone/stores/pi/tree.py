"""The tree of a file's entries.

An entry's position is its number in the file. The tree consists of flat arrays: a session may have 100,000 entries, and
most are never parsed.
"""

from __future__ import annotations

from array import array

from tildone.stores.pi import entries as pi
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    Entry = dict[str, Any]

ROOT, MISSING = -1, -2
"""Values in place of a parent's position: the entry has no parent, or its parent is not in the file."""


class Tree:
    """The parents of entries, and which entries may be events.

    `candidates` maps the positions of possible events to their entry types; `own` contains those that tildone wrote.
    `nearest_candidates` is, for each entry, the nearest possible event among itself and its ancestors. `event_ids`
    contains the ids of events that differ from their entries' ids. `kinds` counts all other entries by type. `verdicts`
    caches whether a possible event is one: None means that its line cannot be parsed.
    """

    def __init__(self) -> None:
        self.ids: list[bytes] = []
        self.positions: dict[bytes, int] = {}
        self.offsets = array("q")
        self.parents = array("q")
        self.nearest_candidates = array("q")
        self.orphans: dict[int, bytes] = {}
        self.kinds: dict[bytes, int] = {}
        self.candidates: dict[int, bytes] = {}
        self.own: set[int] = set()
        self.event_ids: dict[int, str] = {}
        self.verdicts: dict[int, bool | None] = {}

    def name(self, at: int) -> str:
        """Return the id of the entry at a position."""
        return self.ids[at].decode("utf-8", "surrogatepass")

    def position(self, entry_id: str) -> int | None:
        """Return the position of the entry of that id; None if there is none."""
        return self.positions.get(_encoded(entry_id))

    def nearest(self, at: int) -> int:
        """Return the nearest possible event of a position; ROOT and MISSING are returned unchanged."""
        return self.nearest_candidates[at] if at >= 0 else at

    def orphan_above(self, at: int) -> tuple[str, str]:
        """Return the ancestor of an entry whose parent is missing, and the id of that parent."""
        while self.parents[at] >= 0:
            at = self.parents[at]
        return self.name(at), self.orphans[at].decode("utf-8", "surrogatepass")

    def add(self, entry_id: bytes, parent: bytes | None, offset: int) -> None:
        """Add an entry whose parent was added before or is missing."""
        position = len(self.ids)
        above = ROOT if parent is None else self.positions.get(parent, MISSING)
        if above == MISSING and parent is not None:
            self.orphans[position] = parent
        self.ids.append(entry_id)
        self.positions[entry_id] = position
        self.offsets.append(offset)
        self.parents.append(above)
        self.nearest_candidates.append(self.nearest_candidates[above] if above >= 0 else above)

    def add_candidate(self, kind: bytes, entry_id: bytes, parent: bytes | None, offset: int, *, own: bool) -> None:
        """Add an entry that may be an event; one that tildone wrote (`own`) certainly is."""
        self.add(entry_id, parent, offset)
        position = len(self.ids) - 1
        self.nearest_candidates[position] = position
        self.candidates[position] = kind
        if own:
            self.own.add(position)

    def add_record(self, record: Entry, offset: int) -> None:
        """Add a parsed entry."""
        kind, entry_id, parent = _encoded(record["type"]), _encoded(record["id"]), record.get("parentId")
        # As in pi, an empty parent id means no parent.
        parent_id = _encoded(parent) if isinstance(parent, str) and parent else None
        if not pi.may_be_event(record):
            self.kinds[kind] = self.kinds.get(kind, 0) + 1
            self.add(entry_id, parent_id, offset)
            return
        exact = pi.exact_event(record)
        self.add_candidate(kind, entry_id, parent_id, offset, own=exact is not None)
        if exact is not None and exact["id"] != record["id"]:
            self.event_ids[len(self.ids) - 1] = exact["id"]
        if pi.is_deletion(record):
            self._discard_events()

    def _discard_events(self) -> None:
        """Stop treating the entries so far as events: the plan was deleted."""
        for kind in self.candidates.values():
            self.kinds[kind] = self.kinds.get(kind, 0) + 1
        self.nearest_candidates = array("q", [ROOT]) * len(self.nearest_candidates)
        self.candidates.clear()
        self.own.clear()
        self.event_ids.clear()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
