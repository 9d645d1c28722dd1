"""The entries of a session file, scanned incrementally.

Theory of operation. Session files grow to many megabytes, most of it conversation. A scan matches the beginning of each
line with a regular expression, which gives type, id and parent, and whether the line can contain a plan; only a line of
another shape is parsed. An entry is read from its offset on demand.

Files are append-only, so a `refresh` scans what was appended. It first checks that the file is the one that was
read: the same device and inode, not shorter, the same first line, and the same bytes before the end of the last scan
(`_ANCHOR_BYTES`). Otherwise everything is scanned again. If the file is replaced between a scan and the reading of an
entry, `FileReplaced` is raised and the caller starts over.

A line without a newline at the end is a write in progress or a torn one: it is left for the next scan. The entries of a
batch are buffered until the entry that closes it is read.
"""

import os
import re
from array import array
from types import TracebackType
from typing import Any, BinaryIO

from tildone.base import StoreDamaged, StoreError
from tildone.stores.pi import entries as pi
from tildone.stores.pi.session_file import (
    broken_path_error,
    checked_header,
    format_version,
    parse_line,
    upgraded_entries,
)

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
        return self.ids[at].decode("utf-8", "surrogatepass")

    def position(self, entry_id: str) -> int | None:
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


# How pi's entries and ours begin. The last group matches if the rest of the line cannot contain a plan.
_OPENING = re.compile(
    rb'\{"type": ?"([a-z_]+)", ?"id": ?"([^"\\\n]+)", ?"parentId": ?(?:null|"([^"\\\n]+)"), ?"timestamp": ?"[^"\\\n]*"'
    rb'(, ?"message": ?\{"role": ?"(?!toolResult)\w+"'
    rb'|, ?"message": ?\{"role": ?"toolResult", ?"toolCallId": ?"[^"\\\n]*", ?"toolName": ?"(?![^"]*?(?i:todo|tildone))'
    rb'|, ?"customType": ?"(?![^"]*?(?i:todo|tildone)))?'
)
_OWN_EVENT = re.compile(
    rb', ?"customType": ?"(?:tildone|user_todo_edit)", ?"data": ?\{"tildone": ?\{"v": ?\d+, ?"id": ?"([^"\\\n]+)"'
)
_ENDS = (b"}\n", b"}\r\n")
_WHOLE = (pi.WHOLE.encode() + b"\n", pi.WHOLE.encode() + b"\r\n")
_TYPES_OF_EVENTS = {b"message", b"custom", b"label", b"session"}
_ANCHOR_BYTES = 64
_BUFFER_BYTES = 1 << 18


class FileReplaced(Exception):
    """The file is not the one that was scanned: start over."""


class Outline:
    """The tree of a file's entries, and each entry on demand.

    `with outline` keeps the file open while many entries are read. `revision` increases whenever the file has changed.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.revision = 0
        self._file: BinaryIO | None = None
        self._nesting = 0
        self._cached_entry: tuple[int, Entry | None] = (ROOT, None)
        self._leaf: int | None = None
        self._reset()

    def __enter__(self) -> BinaryIO:
        if self._file is None:
            self._file = self._opened()
        self._nesting += 1
        return self._file

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._nesting -= 1
        if self._file is not None and not self._nesting:
            self._file.close()
            self._file = None

    def refresh(self) -> bool:
        """Scan what was appended; return False if the file no longer exists.

        Raises:
            StoreDamaged: it is not a session file.
            StoreTooNew: a newer pi wrote it.
            StoreError: it cannot be read.
        """
        try:
            if self._scanned_key == _stat_key(os.stat(self.path)):
                return True
            with open(self.path, "rb", _BUFFER_BYTES) as file:
                self._read(file)
        except FileNotFoundError:
            self._reset()
            return False
        except OSError as error:
            raise StoreError(f"cannot read {self.path}: {error.strerror}") from error
        return True

    def entry(self, at: int) -> Entry | None:
        """Return the entry at a position; None if the line cannot be parsed.

        Raises FileReplaced if the file was replaced.
        """
        if self._upgraded:
            return self._upgraded[at]
        if self._cached_entry[0] != at:
            with self as file:
                file.seek(self.tree.offsets[at])
                record = parse_line(file.readline())
            if record is not None and record.get("id") != self.tree.name(at):
                raise FileReplaced
            self._cached_entry = at, record
        return self._cached_entry[1]

    @property
    def leaf(self) -> int:
        """The position of the last entry that can be parsed, which is the current one to pi."""
        if self._leaf is None:
            at = len(self.tree.ids) - 1
            while at >= 0 and self.entry(at) is None:
                at -= 1
            self._leaf = at
        return self._leaf

    @property
    def written(self) -> int:
        return self._scanned_key[3] if self._scanned_key else 0

    def missing_parent_error(self, at: int) -> StoreDamaged:
        return broken_path_error(self.path, *self.tree.orphan_above(at))

    def line_error(self, at: int, problem: str) -> StoreDamaged:
        """Return the error for the entry at a position, with its line number."""
        with self as file:
            file.seek(0)
            number = file.read(self.tree.offsets[at]).count(b"\n") + 1
        return StoreDamaged(f"{self.path}, line {number} {problem}")

    def _reset(self) -> None:
        self._scanned_key: tuple[int, int, int, int] | None = None
        self.header: Entry = {}
        self.version = 0
        self.tree = Tree()
        self._upgraded: list[Entry] = []
        self._batch: list[tuple[Entry, int]] = []
        self._end = 0
        self._first = self._anchor = b""
        self._invalidate()

    def _invalidate(self) -> None:
        self.revision += 1
        self._cached_entry = (ROOT, None)
        self._leaf = None

    def _read(self, file: BinaryIO) -> None:
        found = os.fstat(file.fileno())
        if not self._has_only_grown(file, found):
            self._reset()
        self._invalidate()
        file.seek(self._end)
        self._scan(file)
        if not self.header:
            checked_header(self.path, None)
        self._scanned_key = _stat_key(found)

    def _has_only_grown(self, file: BinaryIO, found: os.stat_result) -> bool:
        """Return whether this is the file that was scanned, and has only grown since."""
        if (
            self._scanned_key is None
            or self.version == 1
            or self._scanned_key[:2] != _stat_key(found)[:2]
            or found.st_size < self._end
        ):
            return False
        if file.read(len(self._first)) != self._first:
            return False
        file.seek(self._end - len(self._anchor))
        return file.read(len(self._anchor)) == self._anchor

    def _scan(self, file: BinaryIO) -> None:
        at, opening, batch, tree, kinds = self._end, _OPENING.match, self._batch, self.tree, self.tree.kinds
        for line in file:
            found = None if batch else opening(line)
            if found is None or not line.endswith(_ENDS):
                if not self._parse(line, at, file):
                    break
            else:
                kind, entry_id, parent, plain = found.groups()
                if plain is not None or kind not in _TYPES_OF_EVENTS:
                    kinds[kind] = kinds.get(kind, 0) + 1
                    tree.add(entry_id, parent, at)
                elif kind == b"message":
                    tree.add_candidate(kind, entry_id, parent, at, own=False)
                elif line.endswith(_WHOLE) and (own := _OWN_EVENT.match(line, found.end())) and own[1] == entry_id:
                    tree.add_candidate(kind, entry_id, parent, at, own=True)
                else:
                    self._parse(line, at, file)
            at += len(line)
            if not batch:
                self._end, self._anchor = at, line[-_ANCHOR_BYTES:]
                self._first = self._first or line
        # An incomplete batch is scanned again when more of the file is there.
        batch.clear()

    def _parse(self, line: bytes, at: int, file: BinaryIO) -> bool:
        """Parse a line; return False for an incomplete one at the end of the file."""
        record = parse_line(line)
        if record is None:
            self._batch.clear()
            return line.endswith(b"\n")
        if not self.header:
            self.header = checked_header(self.path, None if self.tree.ids else record)
            self.version = format_version(self.path, self.header)
            if self.version == 1:
                # Its entries have no ids.
                self._upgraded = upgraded_entries(filter(None, map(parse_line, file)), 1)
                for entry in self._upgraded:
                    self.tree.add_record(entry, 0)
        elif record["type"] != "session" and isinstance(record.get("id"), str):
            batch = pi.batch_of(record)
            if self._batch and pi.batch_of(self._batch[0][0]) != batch:
                self._batch.clear()
            self._batch.append((record, at))
            if batch is None or pi.redo_in(record) is not None:
                for entry, offset in self._batch:
                    self.tree.add_record(entry, offset)
                self._batch.clear()
        return True

    def _opened(self) -> BinaryIO:
        try:
            file = open(self.path, "rb")  # noqa: SIM115  closed by the last `__exit__`
        except FileNotFoundError as error:
            raise FileReplaced from error
        except OSError as error:
            raise StoreError(f"cannot read {self.path}: {error.strerror}") from error
        if self._scanned_key is None or _stat_key(os.fstat(file.fileno()))[:2] != self._scanned_key[:2]:
            file.close()
            raise FileReplaced
        return file


def _stat_key(found: os.stat_result) -> tuple[int, int, int, int]:
    """Return device and inode, which identify a file, with size and modification time, which show a change."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
