"""Markdown that arrives in pieces: complete lines are drawn once, and only the last one is drawn again.

A block of code is coloured when its fence has closed: at once if that is fast, otherwise by whoever takes `waiting`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from tildone.kit.components.drawing import fitted
from tildone.kit.components.fitting import TAB, DrawnLine, Safe
from tildone.kit.components.markdown import Fence, MarkdownReader
from tildone.kit.components.row import Row, Table
from tildone.kit.theme import Role, plain
from tildone.tui.transcript.code_colors import MAX_AT_ONCE, CodeColors
from tildone.value import replace, value
from tildone.views.sanitize import printable

PROSE_COLUMNS = 100
"""Columns that prose is wrapped at, however wide the screen is."""

LONG_LINE, LONG_LINE_GROWTH = 4_096, 1.125
"""A line without an end that is longer is drawn again only when it has grown by so much, or is finished."""


CHUNK_ROWS = 100
"""Rows that are fitted to another width together."""

Refitted = tuple[int, list[DrawnLine], list[DrawnLine]]
"""The number of a line, the lines that were there, and those that replace them."""


@value
class CodeBlock:
    """A block of code that has ended: its language, its text, its rows, and which rows of the whole text they are."""

    language: str
    code: str
    rows: tuple[Row, ...]
    first: int
    end: int


class StreamedMarkdown:
    """The lines of a text for a number of columns, without empty ones at its beginning and end.

    The first `complete` lines do not change any more, except for the colours of code. `changed` is the first line that
    the last piece has changed. `drawn` counts the lines that were drawn, so that a test can tell that complete ones are
    not drawn again. `waiting` are the blocks of code that have no colours yet.

    For another width, the rows that were read are fitted again, by and by: until then, the lines are the old ones.
    """

    def __init__(self, columns: int, role: Role, colors: CodeColors | None = None) -> None:
        self.lines: list[DrawnLine] = []
        self.drawn = self.complete = self.changed = 0
        self.waiting: list[CodeBlock] = []
        self._columns = columns
        self._reader = MarkdownReader(role)
        self._rows: list[tuple[Row | Table, Safe]] = []
        self._counts: list[int] = []  # how many lines each row has
        self._empty: list[Row | Table] = []
        self._stale: set[int] = set()  # the chunks of rows that are fitted to another width
        self._colors = colors
        self._code: list[Row] = []
        self._code_start = self._at_once = 0
        self._unfinished, self._shown = "", 0

    def feed(self, piece: str) -> None:
        """Draw a piece of the text."""
        *complete, self._unfinished = (self._unfinished + piece).split("\n")
        self.changed, self._at_once = self.complete, MAX_AT_ONCE
        if complete:
            del self.lines[self.complete :]
            for line in complete:
                self._read(line.removesuffix("\r"))
            self._shown = 0
        if len(self._unfinished) <= LONG_LINE or len(self._unfinished) > self._shown * LONG_LINE_GROWTH:
            self.draw_rest()

    def draw_rest(self) -> None:
        """Draw the unfinished line as far as it has arrived."""
        del self.lines[self.complete :]
        self._shown = len(self._unfinished)
        rows = [(row, self._fitted(row)) for row in self._reader.rest(self._unfinished.removesuffix("\r"))]
        filled = [at for at, (_, lines) in enumerate(rows) if _is_filled(lines)]
        if filled:
            before = [line for row in self._empty for line in self._fitted(row)]
            shown = rows[0 if self._rows else filled[0] : filled[-1] + 1]
            self.lines += (*before, *(line for _, lines in shown for line in lines))

    def finish(self) -> None:
        """Draw all of it: nothing will follow."""
        if self._shown != len(self._unfinished):
            self.draw_rest()
        fence = self._reader.fence
        if fence and self._reader.closes(self._unfinished.removesuffix("\r")):
            self._closed(fence)

    @property
    def is_stale(self) -> bool:
        """Whether there are lines for another width."""
        return bool(self._stale)

    def resize(self, columns: int) -> None:
        """Use another width. `refit` draws the lines for it."""
        self._columns = columns
        self._stale = set(range(-(-len(self._rows) // CHUNK_ROWS)))
        self.draw_rest()

    def refit(self, first: int = 0, end: int = sys.maxsize) -> Refitted | None:
        """Draw the last old lines among these for the new width; None if there are none."""
        stop = self.complete
        for chunk in range(-(-len(self._rows) // CHUNK_ROWS) - 1, -1, -1):
            rows = chunk * CHUNK_ROWS, (chunk + 1) * CHUNK_ROWS
            start = stop - sum(self._counts[slice(*rows)])
            if chunk in self._stale and start < end and stop > first:
                self._stale.discard(chunk)
                old, after = self.lines[start:stop], len(self.lines) - stop
                self._refit(*rows)
                return start, old, self.lines[start : len(self.lines) - after]
            stop = start
        return None

    def color(self, block: CodeBlock) -> None:
        """Give the lines of a block of code their colours, unless the block has none."""
        colored = self._colors.lines(block.language, block.code) if self._colors else None
        if colored is None:
            return
        rows = {id(row): replace(row, body=line) for row, line in zip(block.rows, colored, strict=True)}
        for number in range(block.first, block.end):
            if id(self._rows[number][0]) in rows:
                # The text is printable already: what a character means may depend on its neighbours in another span.
                self._rows[number] = rows[id(self._rows[number][0])], str
        for start in range(block.first - block.first % CHUNK_ROWS, block.end, CHUNK_ROWS):
            if start // CHUNK_ROWS not in self._stale:
                first, end = max(start, block.first), min(start + CHUNK_ROWS, block.end)
                self.changed = min(self.changed, self._refit(first, end))

    def _refit(self, first: int, end: int) -> int:
        """Draw these rows again, and return the first line of them."""
        start = sum(self._counts[:first])
        stop = start + sum(self._counts[first:end])
        drawn = [self._fitted(row, safe) for row, safe in self._rows[first:end]]
        self._counts[first:end] = map(len, drawn)
        self.lines[start:stop] = [line for lines in drawn for line in lines]
        self.complete += sum(map(len, drawn)) - (stop - start)
        return start

    def _read(self, line: str) -> None:
        fence = self._reader.fence
        rows = self._reader.read(line)
        for row in rows:
            self._put(row)
        if fence is None:
            self._code, self._code_start = [], len(self._rows)
        elif self._reader.fence is fence:
            self._code += [row for row in rows if isinstance(row, Row)]
        else:
            self._closed(fence)

    def _closed(self, fence: Fence) -> None:
        """Colour a block of code, or let it wait."""
        if self._colors is None or not fence.language:
            return
        code = "\n".join(printable(plain(row.body).replace("\t", TAB)) for row in self._code)
        block = CodeBlock(fence.language, code, tuple(self._code), self._code_start, len(self._rows))
        is_known = self._colors.is_known(block.language, code)
        self._at_once -= 0 if is_known else len(code)
        if is_known or (self._at_once >= 0 and self._colors.is_loaded(block.language)):
            self.color(block)
        else:
            self.waiting.append(block)

    def _put(self, row: Row | Table) -> None:
        lines = self._fitted(row)
        if _is_filled(lines):
            for empty in self._empty:
                self._append(empty, self._fitted(empty))
            self._empty = []
            self._append(row, lines)
        elif self._rows:
            self._empty.append(row)

    def _append(self, row: Row | Table, lines: list[DrawnLine]) -> None:
        self._rows.append((row, printable))
        self._counts.append(len(lines))
        self.lines += lines
        self.complete = len(self.lines)

    def _fitted(self, row: Row | Table, safe: Safe = printable) -> list[DrawnLine]:
        lines = [*fitted((row,), self._columns, safe=safe, prose_columns=PROSE_COLUMNS)]
        self.drawn += len(lines)
        return lines


def _is_filled(lines: Iterable[DrawnLine]) -> bool:
    return any(line.text.strip() for line in lines)
