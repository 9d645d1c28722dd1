"""Which rows of a document are visible.

A viewport is held by the first visible line (the *anchor*), or by the end of the document while it follows. When
heights change, whether by new text, a correction of an estimate or another width, the row of the anchor is computed
again, so that the line stays where it is on the screen.
"""

from __future__ import annotations

from tildone.run.kit.drawing import DrawnLine
from tildone.screens.transcript.document import Document, characters_before, line_with

PAGES_AROUND = 2


class Viewport:
    """The place in a document that is shown. `follows` says whether it is its end, and stays there."""

    def __init__(self, document: Document) -> None:
        self.follows = True
        self._document = document
        self._anchor = (0, 0)
        self._seen = (0, 0)

    @property
    def new_lines(self) -> int:
        """How many lines were added at the end since it is not followed."""
        if self.follows or not self._document.entries:
            return 0
        number, rows = self._seen
        return max(0, self._document.total - self._document.row(self._document.index(number), rows))

    def unfollow(self) -> None:
        """Stop following the end; what is added from now on is new."""
        if self.follows and self._document.entries:
            last = self._document.entries[-1]
            self.follows, self._seen = False, (last.id, last.rows)

    def hold(self, row: int) -> None:
        if self._document.entries:
            index, line = self._document.locate(row)
            self._anchor = self._document.entries[index].id, line

    def first_row(self, height: int) -> int:
        """Return the first visible row of so many, after drawing the blocks in and near them."""
        row, before = self._held_row(height), -1
        while row != before:
            self._document.draw_rows(row - PAGES_AROUND * height, row + (PAGES_AROUND + 1) * height)
            row, before = self._held_row(height), row
        return row

    def resize(self, columns: int) -> None:
        """Draw for another width; the text at the top stays there, and new lines stay new."""
        document, (held, number), (last, rows) = self._document, self._anchor, self._seen
        if self.follows or not document.entries:
            document.resize(columns)
            return
        index, end = document.index(held), document.index(last)
        if document.is_long(index) and document.is_long(end):
            document.resize(columns)  # the lines stay as they are until they are fitted
            return
        before, seen = characters_before(document.lines(index), number), characters_before(document.lines(end), rows)
        document.resize(columns)
        self._anchor = held, line_with(document.lines(index), before) if number > 0 else number
        self._seen = last, line_with(document.lines(end), seen - 1) + 1

    def refitted(self, block: int, start: int, old: list[DrawnLine], new: list[DrawnLine]) -> None:
        """Begin with the same text after lines of a block were replaced; new lines stay new."""

        def moved(place: tuple[int, int]) -> tuple[int, int]:
            number, line = place
            if number != block or line < start:
                return place
            if line >= start + len(old):
                return number, line + len(new) - len(old)
            return number, start + line_with(new, characters_before(old, line - start))

        self._anchor, self._seen = moved(self._anchor), moved(self._seen)

    def folded(self, block: int, rows: int) -> None:
        """Take note of the rows that a block has now that it was expanded or folded: none of them is new."""
        if block == self._seen[0]:
            self._seen = block, rows

    def _held_row(self, height: int) -> int:
        document = self._document
        if self.follows or not document.entries:
            return max(0, document.total - height) if self.follows else 0
        index = document.index(self._anchor[0])
        return max(0, document.row(index, min(self._anchor[1], max(0, document.entries[index].rows - 1))))
