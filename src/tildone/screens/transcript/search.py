"""Finding words in what is shown."""

from __future__ import annotations

from collections.abc import Iterator

from textual import events

from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Role, Span
from tildone.screens.transcript.blocks import Highlight, Highlighted
from tildone.screens.transcript.document import Document, Piece, Place, matches
from tildone.screens.widgets.keys import Line


class TextSearch:
    """The `words` that are marked in a document. `typed` is what is being typed; None while nothing is.

    `match` is what was gone to: the id of its block, and which of the matches there it is. `failed` says that there is
    none.
    """

    def __init__(self, document: Document) -> None:
        self.words = ""
        self.typed: str | None = None
        self.match: tuple[int, int] | None = None
        self.failed = False
        self._document = document

    def type_key(self, event: events.Key) -> str | None:
        """Take a key while words are typed, and return the words to search for, if it was Enter."""
        typed, self.typed = self.typed or "", None
        match event.key:
            case "enter":
                return typed or self.words
            case "escape":
                pass
            case "backspace":
                self.typed = typed[:-1]
            case _:
                self.typed = typed + (event.character or "" if event.is_printable else "")
        return None

    def step(self, step: int, top: Place) -> tuple[int, int] | None:
        """Go to the match after the current one, or to the first one from `top` on; at the end, start over.

        Return its block and line; None if there is no match.
        """
        found = next(self._from(step, top), None) if self.words and self._document.entries else None
        self.failed = bool(self.words) and found is None
        if found is None:
            return None
        index, which, pieces = found
        self.match = self._document.entries[index].id, which
        return index, pieces[0][0]

    def line(self) -> Line | None:
        """Return what is typed, or that nothing was found; None if there is nothing to say."""
        if self.typed is not None:
            return Span("/", Role.ACCENT), Span(printable(self.typed)), Span("▍", Role.ACCENT)
        if self.failed and self.words:
            return Span(f"/{printable(self.words)}", Role.ACCENT), Span(" · not found · esc", Role.MUTED)
        return None

    def marked(self, index: int, number: int) -> list[Highlighted]:
        found: list[Highlighted] = []
        for which, pieces in enumerate(self._matches(index)):
            kind = Highlight.CURRENT if self.match == (self._document.entries[index].id, which) else Highlight.FOUND
            found += [(start, end, kind) for at, start, end in pieces if at == number]
        return found

    def _matches(self, index: int) -> list[list[Piece]]:
        return matches(self._document.lines(index), self.words) if self.words else []

    def _from(self, step: int, top: Place) -> Iterator[tuple[int, int, list[Piece]]]:
        count = len(self._document.entries)
        if self.match is not None:
            start, skipped = self._document.index(self.match[0]), self.match[1]
        else:
            start, line, _ = top
            skipped = sum(pieces[0][0] < line for pieces in self._matches(start)) - (1 if step > 0 else 0)
        for offset in range(count + 1):
            index = (start + step * offset) % count
            found = list(enumerate(self._matches(index)))
            for which, pieces in found[::step]:
                if offset == 0 and (which <= skipped if step > 0 else which >= skipped):
                    continue
                yield index, which, pieces
