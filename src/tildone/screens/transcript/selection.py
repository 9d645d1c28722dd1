"""What is selected in a document, by mouse or by keys."""

from __future__ import annotations

from collections.abc import Callable

from tildone.run.kit.drawing import DrawnLine
from tildone.screens.transcript.blocks import Highlight, Highlighted
from tildone.screens.transcript.document import Document, Place, piece_of, selected_text, word_place


class Selection:
    """A part of the text, if any. With `by_keys`, keys move its end. `changed` is called when it is another one."""

    def __init__(self, document: Document, changed: Callable[[], object]) -> None:
        self.by_keys = False
        self._document, self._changed = document, changed
        self._from: Place | None = None
        self._to: Place = (0, 0, 0)

    @property
    def exists(self) -> bool:
        return self._from is not None

    @property
    def text(self) -> str:
        return selected_text(self._document, *self._ends()) if self.exists else ""

    def clear(self) -> None:
        self._from, self.by_keys = None, False
        self._changed()

    def select(self, first: Place, end: Place) -> None:
        self._from, self._to = first, end
        self._changed()

    def begin_by_keys(self, place: Place) -> None:
        self.by_keys = True
        self.select(place, place)

    def ends_in(self, block: int) -> bool:
        return self.exists and block == self._document.entries[self._to[0]].id

    def move_end(self, rows: int, characters: int = 0) -> int:
        """Move the end, and return the row where it is."""
        document, (index, number, character) = self._document, self._to
        lines = document.lines(index)
        character = min(max(0, character + characters), len(lines[number].text))
        row = document.row(index, number)
        step = 1 if rows > 0 else -1
        goal = min(max(0, row + rows), document.total - 1)
        index, number = document.locate(goal)
        while number < 0 and 0 < goal < document.total - 1:
            goal += step
            index, number = document.locate(goal)
        self._to = index, max(0, number), character
        return goal

    def move_word(self, motion: str) -> int:
        """Move the end to the `next` word, to the `previous` one or to the `end` of one, and return its row."""
        self._to = word_place(self._document, self._to, motion)
        return self._document.row(*self._to[:2])

    def marked(self, index: int, number: int, line: DrawnLine) -> list[Highlighted]:
        if not self.exists:
            return []
        start, end = piece_of(*self._ends(), index, number, line)
        return [(max(start, line.gutter), end, Highlight.SELECTED)] if start < end else []

    def _ends(self) -> tuple[Place, Place]:
        first, end = sorted((self._from or self._to, self._to))
        # Selecting by keys includes the character at the end.
        return first, (end[0], end[1], end[2] + 1) if self.by_keys else end
