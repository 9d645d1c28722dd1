"""Selecting by mouse and by keys, and copying."""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.timer import Timer

from tildone.kit.components.fitting import DrawnLine
from tildone.tui.copying import copied_words
from tildone.tui.transcript.places import Place, character_at, piece_of, selected_text, word_at, word_place
from tildone.tui.transcript.strips import PADDING, Highlight, Highlighted
from tildone.tui.transcript.view import TranscriptView

WHEEL_ROWS = 3
EDGE_SECONDS = 0.05
WORD_CLICKS, LINE_CLICKS = 2, 3


class SelectableView(TranscriptView):
    """A view in which text can be selected. Nothing is copied until a key says so."""

    class Copied(Message):
        """Text was copied. It is not certain if only the terminal was asked to."""

        def __init__(self, text: str, *, certain: bool) -> None:
            super().__init__()
            self.text, self.certain = text, certain

        @property
        def words(self) -> str:
            """What to tell the person."""
            return copied_words(self.text, certain=self.certain)

    copy_on_select = False
    """Whether text is copied when the mouse has selected it."""

    _from: Place | None = None
    _to: Place = (0, 0, 0)
    _by_keys = False
    _drag: Place | None = None
    _edge: Timer | None = None

    @property
    def has_selection(self) -> bool:
        """Whether something is selected."""
        return self._from is not None

    @property
    def selected(self) -> str:
        """The selected text."""
        first, end = self._ends()
        return selected_text(self.document, first, end) if self.has_selection else ""

    def clear_selection(self) -> None:
        """Select nothing."""
        self._from, self._by_keys = None, False
        self.refresh()

    def copy_selection(self) -> None:
        """Copy what is selected, and end the selection."""
        if self.has_selection:
            self.copy(self.selected)
            self.clear_selection()

    def copy(self, text: str) -> None:
        """Copy a text."""
        raise NotImplementedError

    def select(self, first: Place, end: Place) -> None:
        """Select the text from one place to another."""
        self._from, self._to = first, end
        self.refresh()

    def place_at(self, x: int, y: int) -> Place:
        """Return the place that is drawn at a cell of the widget."""
        row = min(max(0, self.scroll_offset.y + y), max(0, self.document.total - 1))
        if not self.document.entries:
            return 0, 0, 0
        index, number = self.document.locate(row)
        lines = self.document.lines(index)
        if number < 0 or not lines:
            return index, 0, 0
        number = min(number, len(lines) - 1)
        return index, number, character_at(lines[number].text, max(0, x - PADDING))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Begin to select."""
        if event.button == 1 and not self._on_edge_line(event.y):
            self.clear_selection()
            self._drag = self.place_at(event.x, event.y)
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Select up to here; at an edge, scroll."""
        if self._drag is None:
            return
        place = self.place_at(event.x, min(max(event.y, 0), self.size.height - 1))
        if place != self._drag or self.has_selection:
            self.select(self._drag, place)
        beyond = -1 if event.y < 0 else 1 if event.y >= self.size.height else 0
        self._stop_edge()
        if beyond:
            self._edge = self.set_interval(EDGE_SECONDS, lambda: self._scroll_selecting(beyond))

    def on_mouse_up(self, _event: events.MouseUp) -> None:
        """Keep what is selected."""
        self._drag = None
        self._stop_edge()
        self.release_mouse()
        if self.copy_on_select and self.has_selection:
            self.copy(self.selected)

    def on_click(self, event: events.Click) -> None:
        """Select a word or a line; once, choose what is there."""
        if self._on_edge_line(event.y):
            self.go_to_end()
            return
        index, number, character = self.place_at(event.x, event.y)
        if event.chain == 1 and not self.has_selection:
            self.click_place((index, number, character))
        elif event.chain in (WORD_CLICKS, LINE_CLICKS) and self.document.entries:
            text = self.document.lines(index)[number].text
            start, end = word_at(text, character) if event.chain == WORD_CLICKS else (0, len(text))
            self.select((index, number, start), (index, number, end))

    def click_place(self, place: Place) -> None:
        """Do what a click on a character does."""
        raise NotImplementedError

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll down."""
        event.stop()
        event.prevent_default()  # Textual would scroll, too
        self.scroll_rows(WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll up."""
        event.stop()
        event.prevent_default()  # Textual would scroll, too
        self.scroll_rows(-WHEEL_ROWS)

    def begin_by_keys(self, place: Place) -> None:
        """Begin to select by keys."""
        self._by_keys = True
        self.select(place, place)

    def move_end(self, rows: int, characters: int = 0) -> None:
        """Move the end of the selection, and scroll so that it is visible."""
        index, number, character = self._to
        lines = self.document.lines(index)
        character = min(max(0, character + characters), len(lines[number].text))
        row = self.document.row(index, number)
        step = 1 if rows > 0 else -1
        goal = min(max(0, row + rows), self.document.total - 1)
        index, number = self.document.locate(goal)
        while number < 0 and 0 < goal < self.document.total - 1:
            goal += step
            index, number = self.document.locate(goal)
        self._to = index, max(0, number), character
        self._show_end(goal)

    def action_word(self, motion: str) -> None:
        """Move the end of the selection to the `next` word, to the `previous` one or to the `end` of one."""
        self._to = word_place(self.document, self._to, motion)
        self._show_end(self.document.row(*self._to[:2]))

    def _show_end(self, row: int) -> None:
        top = self.scroll_offset.y
        self.scroll_rows(min(0, row - top) or max(0, row - top - self.size.height + 1))
        self.refresh()

    def _ends(self) -> tuple[Place, Place]:
        first, end = sorted((self._from or self._to, self._to))
        # Selecting by keys includes the character at the end.
        return first, (end[0], end[1], end[2] + 1) if self._by_keys else end

    def _marked(self, index: int, number: int, line: DrawnLine) -> list[Highlighted]:
        if not self.has_selection:
            return []
        start, end = piece_of(*self._ends(), index, number, line)
        return [(max(start, line.gutter), end, Highlight.SELECTED)] if start < end else []

    def _scroll_selecting(self, rows: int) -> None:
        self.scroll_rows(rows)
        if self._drag is not None:
            self.select(self._drag, self.place_at(0, 0) if rows < 0 else self.place_at(0, self.size.height - 1))

    def _refitted(self, block: int, start: int, old: list[DrawnLine], new: list[DrawnLine]) -> None:
        """End the selection, whose lines have changed."""
        self.clear_selection()
        super()._refitted(block, start, old, new)

    def _stop_edge(self) -> None:
        if self._edge is not None:
            self._edge.stop()
            self._edge = None

    def _on_edge_line(self, y: int) -> bool:
        return y == self.size.height - 1 and self._edge_line() is not None
