"""Finding words in what is shown."""

from __future__ import annotations

from collections.abc import Iterator

from textual import events

from tildone.kit.components.fitting import DrawnLine
from tildone.kit.theme import Role, Span
from tildone.tui.transcript.places import Piece, matches
from tildone.tui.transcript.selecting import SelectableView
from tildone.tui.transcript.strips import Highlight, Highlighted
from tildone.tui.transcript.viewport import Line
from tildone.views.sanitize import printable


class SearchableView(SelectableView):
    """A view that marks what is searched for. The words are typed into the row at its lower edge."""

    _words = ""
    _typed: str | None = None
    _match: tuple[int, int] | None = None
    _missing = False

    @property
    def is_searching(self) -> bool:
        """Whether words are being typed."""
        return self._typed is not None

    @property
    def words(self) -> str:
        """The words that are marked."""
        return self._words

    @property
    def current_match(self) -> tuple[int, int] | None:
        """The match that was gone to: the id of its block, and which of the matches there it is."""
        return self._match

    def find(self, words: str) -> bool:
        """Highlight words, and go to the next place where they are shown; return whether there is one."""
        self._words, self._match = words, None
        found = bool(words) and self._go_to_match(1)
        self._missing = bool(words) and not found
        self.refresh()
        return found

    def action_find(self) -> None:
        """Begin to type words to search for."""
        self._typed = ""
        self.refresh()

    def action_match(self, step: int) -> None:
        """Go to the next match, or to the previous one."""
        if self._words:
            self._missing = not self._go_to_match(step)
            self.refresh()

    def on_paste(self, event: events.Paste) -> None:
        """Search for what was pasted."""
        if self._typed is not None:
            event.stop()
            self._typed += event.text.partition("\n")[0]
            self.refresh()

    def type_key(self, event: events.Key) -> None:
        """Take a key while words are typed."""
        typed = self._typed or ""
        match event.key:
            case "enter":
                self._typed = None
                self.find(typed or self._words)
            case "escape":
                self._typed = None
            case "backspace":
                self._typed = typed[:-1]
            case _ if event.is_printable:
                self._typed = typed + (event.character or "")
        self.refresh()

    def _edge_line(self) -> Line | None:
        if self._typed is not None:
            return Span("/", Role.ACCENT), Span(printable(self._typed)), Span("▍", Role.ACCENT)
        if self._missing and self._words:
            return Span(f"/{printable(self._words)}", Role.ACCENT), Span(" · not found · esc", Role.MUTED)
        return super()._edge_line()

    def _marked(self, index: int, number: int, line: DrawnLine) -> list[Highlighted]:
        marked = super()._marked(index, number, line)
        if not self._words:
            return marked
        found: list[Highlighted] = []
        for which, pieces in enumerate(self._matches(index)):
            kind = Highlight.CURRENT if self._match == (self.document.entries[index].id, which) else Highlight.FOUND
            found += [(start, end, kind) for at, start, end in pieces if at == number]
        return [*found, *marked]

    def _matches(self, index: int) -> list[list[Piece]]:
        return matches(self.document.lines(index), self._words)

    def _go_to_match(self, step: int) -> bool:
        """Go to the match after the current one, or to the first one from the viewport on; at the end, start over."""
        if not self.document.entries:
            return False
        for index, which, pieces in self._from_here(step):
            self._match = self.document.entries[index].id, which
            self.show_line(index, pieces[0][0])
            return True
        return False

    def _from_here(self, step: int) -> Iterator[tuple[int, int, list[Piece]]]:
        count = len(self.document.entries)
        if self._match is not None:
            start, skipped = self.document.index(self._match[0]), self._match[1]
        else:
            start, line, _ = self.place_at(0, 0)
            skipped = sum(pieces[0][0] < line for pieces in self._matches(start)) - (1 if step > 0 else 0)
        for offset in range(count + 1):
            index = (start + step * offset) % count
            found = list(enumerate(self._matches(index)))
            for which, pieces in found[::step]:
                if offset == 0 and (which <= skipped if step > 0 else which >= skipped):
                    continue
                yield index, which, pieces
