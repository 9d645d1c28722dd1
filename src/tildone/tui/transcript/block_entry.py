"""A block in a document, and how far it has been drawn."""

from __future__ import annotations

from tildone.kit.components.fitting import DrawnLine
from tildone.tui.transcript.block_lines import PREVIEW_LINES
from tildone.tui.transcript.blocks import Block, CallBlock, PersonMessage, Thinking, source_text
from tildone.tui.transcript.streamed import PROSE_COLUMNS, StreamedMarkdown

CALL_ROWS = 3
"""The estimated rows of a folded call."""


class BlockEntry:
    """A block in the document. `lines` is None until it is drawn; `is_open` is a text that is streamed."""

    def __init__(self, number: int, block: Block, *, expanded: bool) -> None:
        self.id = number
        self.block = block
        self.expanded = expanded
        self.lines: list[DrawnLine] | None = None
        self.pieces: list[str] = []
        self.pending: list[str] = []
        self.stream: StreamedMarkdown | None = None
        self.rows = self.gap = 0
        self.is_open = False

    @property
    def text(self) -> str:
        return source_text(self.block) + "".join(self.pieces) + "".join(self.pending)


def estimated_rows(entry: BlockEntry, columns: int) -> int:
    """Return about how many rows a block takes."""
    match entry.block:
        case Thinking() if not entry.expanded:
            return 1
        case CallBlock() if not entry.expanded:
            return CALL_ROWS
    text = entry.text
    rows = text.count("\n") + 1 + len(text) // max(1, min(columns, PROSE_COLUMNS))
    return min(rows, PREVIEW_LINES) if isinstance(entry.block, PersonMessage) else rows


def gap_above(before: BlockEntry | None, entry: BlockEntry) -> int:
    """Return how many empty rows are above a block: calls follow each other without one."""
    if before is None or not entry.rows:
        return 0
    return 0 if isinstance(before.block, CallBlock) and isinstance(entry.block, CallBlock) else 1
