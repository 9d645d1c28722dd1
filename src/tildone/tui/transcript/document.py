"""All blocks of a transcript with their lines for a width, and the rows that they take.

Blocks are drawn when their rows are wanted. Until then their height is estimated.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from tildone.kit.components.fitting import DrawnLine
from tildone.kit.keys import ALL_BINDINGS, KeyBindings
from tildone.kit.theme import Role
from tildone.tui.transcript.block_entry import BlockEntry, estimated_rows, gap_above
from tildone.tui.transcript.block_lines import (
    MIN_COLUMNS,
    Look,
    block_lines,
    folded_thinking,
    header_lines,
)
from tildone.tui.transcript.blocks import AnswerBlock, Block, CallBlock, CallState, Thinking, source_text
from tildone.tui.transcript.code_colors import CodeColors
from tildone.tui.transcript.heights import HeightIndex
from tildone.tui.transcript.streamed import PROSE_COLUMNS, CodeBlock, StreamedMarkdown

MAX_FLUSH = 16_384
"""Characters of a text that are drawn at once, so that keys are handled in between."""

LONG_TEXT = 500
"""Lines of a text that is fitted to another width in parts."""


class Document:
    """Blocks from top to bottom. `now` returns the time in seconds, for running calls.

    `on_refit` is called with the id of a block, a line, the lines there, and those that replace them for another width.
    `uncolored` are blocks of code, with the text that they are part of, that it takes too long to colour at once.
    """

    def __init__(self, now: Callable[[], float], keys: KeyBindings = ALL_BINDINGS, columns: int = 80) -> None:
        self.entries: list[BlockEntry] = []
        self.heights = HeightIndex()
        self.columns = columns
        self.expanded = self.thinking = False
        self.drawn = 0
        self.colors = CodeColors()
        self.uncolored: list[tuple[StreamedMarkdown, CodeBlock]] = []
        self.on_refit: Callable[[int, int, list[DrawnLine], list[DrawnLine]], None] = lambda *_: None
        self.now, self._keys = now, keys
        self._next = 0
        self._index: dict[int, int] = {}
        self._waiting: dict[int, None] = {}
        self._dirty: dict[int, None] = {}

    @property
    def total(self) -> int:
        return self.heights.total

    @property
    def is_drawn(self) -> bool:
        """Whether no height is estimated."""
        return not self._waiting

    @property
    def is_dirty(self) -> bool:
        """Whether pieces of text wait to be drawn."""
        return bool(self._dirty)

    def index(self, number: int) -> int:
        return self._index[number]

    def add(self, block: Block) -> int:
        self._next += 1
        is_open = self.thinking if isinstance(block, Thinking) else self.expanded and isinstance(block, CallBlock)
        entry = BlockEntry(self._next, block, expanded=is_open)
        self._index[entry.id] = len(self.entries)
        self.entries.append(entry)
        self.heights.append(0)
        self._estimate(entry)
        return entry.id

    def replace(self, number: int, block: Block) -> None:
        """Exchange a block, which stays expanded or folded. It is drawn by `flush`."""
        entry = self.entries[self._index[number]]
        entry.block, entry.pieces, entry.pending, entry.stream = block, [], [], None
        entry.is_open = False
        self._dirty[number] = None

    def append(self, number: int, piece: str) -> None:
        """Add to a text. The piece is drawn by `flush`."""
        entry = self.entries[self._index[number]]
        entry.pending.append(piece)
        entry.is_open = True
        self._dirty[number] = None

    def finish(self, number: int) -> None:
        """End a text that was streamed."""
        entry = self.entries[self._index[number]]
        self.flush(limit=sys.maxsize)
        if entry.stream is not None:
            entry.stream.finish()
            self._measure(entry)
        entry.block = (Thinking if isinstance(entry.block, Thinking) else AnswerBlock)(entry.text)
        entry.pieces, entry.is_open = [], False

    def flush(self, limit: int = MAX_FLUSH) -> int:
        """Draw what has arrived, if its blocks have been drawn; of each text no more than `limit` characters.

        Return the first row that has changed.
        """
        changed = sys.maxsize
        dirty, self._dirty = self._dirty, {}
        for number in dirty:
            entry = self.entries[self._index[number]]
            arrived = "".join(entry.pending)
            piece, left = arrived[:limit], arrived[limit:]
            entry.pieces += [piece] if piece else []
            entry.pending = [left] if left else []
            if left:
                self._dirty[number] = None
            top = self.top(self._index[number])
            if entry.stream is not None:
                before = entry.stream.drawn
                entry.stream.feed(piece)
                changed = min(changed, top + entry.stream.changed)
                self.drawn += entry.stream.drawn - before
                self._measure(entry)
                continue
            changed = min(changed, top)
            if entry.lines is not None:
                self._draw(entry)
        return changed

    def clear(self) -> None:
        self.entries.clear()
        self.heights.clear()
        for held in (self._index, self._waiting, self._dirty, self.uncolored):
            held.clear()

    def resize(self, columns: int) -> None:
        """Estimate all heights for another width; the blocks are drawn when they are wanted, long texts in parts."""
        before, self.columns = max(1, self.columns), columns
        for index, entry in enumerate(self.entries):
            if entry.lines is None:
                self._estimate(entry)
            elif self.is_long(index) and entry.stream is not None:
                entry.stream.resize(max(columns, MIN_COLUMNS))
                self._waiting[entry.id] = None
                self._measure(entry)
            else:
                self._forget(entry)
                entry.rows = -(-entry.rows * min(before, PROSE_COLUMNS) // max(1, min(columns, PROSE_COLUMNS)))
                self._set_height(index)

    def set_expanded(self, number: int, *, expanded: bool) -> None:
        entry = self.entries[self._index[number]]
        if entry.expanded != expanded:
            entry.expanded = expanded
            self._draw(entry)

    def expand_all(self, *, expanded: bool) -> None:
        """Expand all calls, or fold them: those that are here, and those to come."""
        self.expanded = expanded
        self._refold(CallBlock, expanded=expanded)

    def show_thinking(self, *, shown: bool) -> None:
        """Show what the model thinks, or fold it, from now on."""
        self.thinking = shown
        self._refold(Thinking, expanded=shown)

    def invalidate(self, number: int) -> None:
        """Draw a block again when its rows are wanted."""
        entry = self.entries[self._index[number]]
        if entry.lines is not None:
            self._draw(entry)

    def top(self, index: int) -> int:
        """Return the first row of a block: the empty one above it, if there is one."""
        return self.heights.top(index)

    def row(self, index: int, number: int) -> int:
        """Return the row of a line of a block."""
        return self.heights.top(index) + self.entries[index].gap + number

    def lines(self, index: int) -> list[DrawnLine]:
        """Return the lines of a block, which is drawn if it was not."""
        entry = self.entries[index]
        if entry.lines is None:
            self._draw(entry)
        return entry.lines or []

    def draw_rows(self, first: int, end: int) -> None:
        """Draw the blocks from the one that has the row `first` on, until their rows reach `end`."""
        index = self.heights.find(max(0, first))
        while index < len(self.entries) and self.top(index) < end:
            self.lines(index)
            top = self.row(index, 0)
            while self._refit(self.entries[index], first - top, end - top):
                pass
            index += 1

    def draw_waiting(self) -> bool:
        """Draw one block whose height is estimated, the newest first, or a part of it; return whether there was one."""
        if not self._waiting:
            return False
        number = next(reversed(self._waiting))
        entry = self.entries[self._index[number]]
        if entry.lines is None:
            self._draw(entry)
        elif not self._refit(entry):
            del self._waiting[number]
        return True

    def is_long(self, index: int) -> bool:
        """Return whether a block is a text that is fitted to another width in parts."""
        entry = self.entries[index]
        return entry.stream is not None and len(entry.lines or ()) > LONG_TEXT

    def locate(self, row: int) -> tuple[int, int]:
        """Return the block at a row, and which of its lines is there; a negative line is an empty row above it."""
        index = self.heights.find(row)
        return index, row - self.top(index) - self.entries[index].gap

    def header_rows(self, index: int) -> int:
        """Return how many lines of a block are the header of a call."""
        entry = self.entries[index]
        return len(header_lines(entry.block, self._look(entry))) if isinstance(entry.block, CallBlock) else 0

    def is_running(self, index: int) -> bool:
        """Return whether a block is a call that has not ended."""
        block = self.entries[index].block
        return isinstance(block, CallBlock) and block.state is CallState.RUNNING

    def _refit(self, entry: BlockEntry, first: int = 0, end: int = sys.maxsize) -> bool:
        """Draw some old lines of a text for the present width; return whether there were any."""
        refitted = entry.stream.refit(first, end) if entry.stream is not None and entry.stream.is_stale else None
        if refitted is None:
            return False
        self.drawn += len(refitted[2])
        self._measure(entry)
        self.on_refit(entry.id, *refitted)
        return True

    def _refold(self, kind: type[Block], *, expanded: bool) -> None:
        for entry in self.entries:
            if isinstance(entry.block, kind) and entry.expanded != expanded:
                entry.expanded = expanded
                self._estimate(entry)

    def _look(self, entry: BlockEntry) -> Look:
        return Look(self.columns, self._keys, expanded=entry.expanded, now=self.now())

    def _draw(self, entry: BlockEntry) -> None:
        is_open = isinstance(entry.block, AnswerBlock) or (isinstance(entry.block, Thinking) and entry.expanded)
        entry.stream = None
        if is_open:
            is_answer = isinstance(entry.block, AnswerBlock)
            role, colors = (Role.TEXT, self.colors) if is_answer else (Role.MUTED, None)
            entry.stream = StreamedMarkdown(max(self.columns, MIN_COLUMNS), role, colors)
            entry.stream.feed(source_text(entry.block) + "".join(entry.pieces))
            if not entry.is_open:
                entry.stream.finish()
            entry.lines = entry.stream.lines
        elif isinstance(entry.block, Thinking):
            text = source_text(entry.block) + "".join(entry.pieces)
            entry.lines = [folded_thinking(text.strip().count("\n") + 1, self._look(entry))]
        else:
            entry.lines = block_lines(entry.block, self._look(entry))
        self.drawn += entry.stream.drawn if entry.stream else len(entry.lines)
        self._waiting.pop(entry.id, None)
        self._measure(entry)

    def _measure(self, entry: BlockEntry) -> None:
        if entry.stream is not None and entry.stream.waiting:
            self.uncolored += [(entry.stream, block) for block in entry.stream.waiting]
            entry.stream.waiting = []
        entry.rows = len(entry.lines or ())
        self._set_height(self._index[entry.id])

    def _estimate(self, entry: BlockEntry) -> None:
        self._forget(entry)
        entry.rows = estimated_rows(entry, self.columns)
        self._set_height(self._index[entry.id])

    def _set_height(self, index: int) -> None:
        for changed in (index, index + 1):  # the gap above the next block depends on this one
            if changed < len(self.entries):
                entry = self.entries[changed]
                entry.gap = gap_above(self.entries[changed - 1] if changed else None, entry)
                self.heights.set(changed, entry.gap + entry.rows)

    def _forget(self, entry: BlockEntry) -> None:
        entry.lines = entry.stream = None
        self._waiting[entry.id] = None
