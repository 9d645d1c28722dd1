"""A list of rows whose text can be selected with the mouse. Nothing is copied until a key says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer

from tildone.kit.keys import ALL_BINDINGS, KeyBindings, key_names
from tildone.kit.text import display_width
from tildone.kit.theme import plain
from tildone.tui.palette import Palette
from tildone.tui.row_list import ListRow, RowList
from tildone.tui.transcript.places import character_at, word_at
from tildone.views.sanitize import printable

Place = tuple[int, int]
"""A row, and a character of its text."""

EDGE_SECONDS = 0.05
WORD_CLICKS, LINE_CLICKS = 2, 3


class SelectableRows(RowList):
    """A list in which a drag selects text, a double click a word, and a triple click the text of a row.

    The keys that copy, and that end the selection, are those of a conversation.
    """

    class Selected(Message):
        """Text was selected."""

    class CopyWanted(Message):
        """The person wants to copy what is selected."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    bindings: KeyBindings = ALL_BINDINGS
    was_dragged = False
    """Whether the mouse was moved since it was pressed last."""

    _pressed: Place | None = None
    _ends: tuple[Place, Place] | None = None
    _edge: Timer | None = None

    @property
    def has_selection(self) -> bool:
        """Whether something is selected."""
        return self._ends is not None

    @property
    def selected(self) -> str:
        """The selected text: without layout, and with wrapped rows joined."""
        texts: list[str] = []
        if self._ends is None:
            return ""
        for index in range(self._ends[0][0], self._ends[1][0] + 1):
            row = self._rows[index]
            start, stop = self._piece(index)
            part = _text(row)[start:stop]
            if row.joint is None or not texts:
                texts.append(part)
            else:
                texts[-1] += row.joint + part
        return "\n".join(text.strip() for text in texts)

    def clear_selection(self) -> None:
        """Select nothing."""
        self._ends = None
        self.refresh()

    def press(self, x: int, y: int) -> None:
        """The mouse is pressed at a cell."""
        self.clear_selection()
        self.was_dragged = False
        self._pressed = self._place_at(x, y)

    def drag_to(self, x: int, y: int) -> None:
        """The mouse is moved to a cell while it is pressed."""
        place = self._place_at(x, y)
        if self._pressed is not None and (place != self._pressed or self.has_selection):
            first, end = sorted((self._pressed, place))
            self._ends, self.was_dragged = (first, end), True
            self.refresh()

    def release(self) -> None:
        """The mouse is released."""
        self._pressed = None
        if self.has_selection:
            self.post_message(self.Selected())

    @property
    def is_dragging(self) -> bool:
        """Whether a move of the mouse means something."""
        return self._pressed is not None

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Begin to select."""
        if event.button == 1:
            self.capture_mouse()
            self.press(event.x, event.y)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Select up to here; beyond an edge, scroll."""
        if self.is_dragging:
            x, y, last = event.x, event.y, self.size.height - 1
            self.drag_to(x, min(max(y, 0), last))
            self._stop_edge()
            if not 0 <= y <= last:
                self._edge = self.set_interval(EDGE_SECONDS, lambda: self._scroll_dragging(x, -1 if y < 0 else 1))

    def on_mouse_up(self) -> None:
        """Keep what is selected."""
        self.release_mouse()
        self._stop_edge()
        if self.is_dragging:
            self.release()

    def on_click(self, event: events.Click) -> None:
        """Select a word, or the text of a row. The click at the end of a drag does nothing."""
        if self.was_dragged:
            event.prevent_default()
            return
        if event.chain in (WORD_CLICKS, LINE_CLICKS) and self._rows:
            index, character = self._place_at(event.x, event.y)
            text = _text(self._rows[index])
            start, stop = word_at(text, character) if event.chain == WORD_CLICKS else (0, len(text))
            self._ends = (index, start), (index, stop)
            self.refresh()
            self.post_message(self.Selected())

    def on_key(self, event: events.Key) -> None:
        """Copy what is selected, or end the selection."""
        if not self.has_selection:
            return
        if self._is_key(event, "transcript.copy", "transcript.copySelection"):
            self.post_message(self.CopyWanted(self.selected))
        elif not self._is_key(event, "transcript.escape"):
            return
        self.clear_selection()
        event.stop()
        event.prevent_default()

    def render_line(self, y: int) -> Strip:
        """Draw one row, and what is selected of it."""
        strip = super().render_line(y)
        index = self._top + y
        if self._ends is None or not self._ends[0][0] <= index <= self._ends[1][0]:
            return strip
        row, (start, stop) = self._rows[index], self._piece(index)
        before = 1 + row.gutter
        text = _text(row)
        first, end = before + display_width(text[:start]), before + display_width(text[:stop])
        return Strip.join([strip.crop(0, first), _marked(strip.crop(first, end), self._palette), strip.crop(end)])

    def show(self, build: Callable[[int], Sequence[ListRow]]) -> None:
        """Draw these rows from now on. A selection ends if its rows are others now."""
        before = self._selected_rows()
        super().show(build)
        if self._selected_rows() != before:
            self.clear_selection()

    def _selected_rows(self) -> list[tuple[str, str | None]]:
        first, end = (self._ends[0][0], self._ends[1][0] + 1) if self._ends else (0, 0)
        return [(row.key, row.text) for row in self._rows[first:end]]

    def _place_at(self, x: int, y: int) -> Place:
        index = min(max(0, self._top + y), max(0, len(self._rows) - 1))
        row = self._rows[index] if self._rows else ListRow(())
        return index, character_at(_text(row), max(0, x - 1 - row.gutter))

    def _piece(self, index: int) -> Place:
        """The selected characters of a row: the first, and the one after the last."""
        first, end = self._ends or ((0, 0), (0, 0))
        return first[1] if index == first[0] else 0, end[1] if index == end[0] else len(_text(self._rows[index]))

    def _scroll_dragging(self, x: int, rows: int) -> None:
        self.scroll_rows(rows)
        self.drag_to(x, 0 if rows < 0 else self.size.height - 1)

    def _stop_edge(self) -> None:
        if self._edge is not None:
            self._edge.stop()
            self._edge = None

    def _is_key(self, event: events.Key, *actions: str) -> bool:
        return any(event.key in key_names(self.bindings[action]) for action in actions)


def _text(row: ListRow) -> str:
    return printable(plain(row.spans)) if row.text is None else row.text


def _marked(strip: Strip, palette: Palette) -> Strip:
    """The cells with the background of what is selected."""
    return Strip(Segment.apply_style(strip, post_style=palette.style(None, palette.selected)))
