"""The viewport on a document: which rows are visible, and when they are drawn.

The viewport is held by the first visible line (the *anchor*), or by the end of the document while it follows. When
heights change, whether by new text, a correction of an estimate or another width, the row of the anchor is computed
again, so that the line stays where it is on the screen.
"""

from __future__ import annotations

from collections.abc import Callable

from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from tildone.kit.components.fitting import DrawnLine
from tildone.kit.formatting import format_count
from tildone.kit.keys import KeyBindings
from tildone.kit.theme import Role, Span
from tildone.tui.palette import Palette
from tildone.tui.resized import ResizedWidget
from tildone.tui.transcript.document import Document
from tildone.tui.transcript.places import characters_before, line_with
from tildone.tui.transcript.strips import PADDING, Highlighted, line_strip

PAGES_AROUND = 2
MAX_STRIPS = 4_000
CARET = Span("▍", Role.ACCENT)
"""The end of a text that is being written."""

Line = tuple[Span, ...]


class Viewport(ResizedWidget, ScrollView, inherit_bindings=False, can_focus=True):
    """A document, of which the visible lines are drawn."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Viewport {
        height: 1fr; width: 1fr; overflow-x: hidden; overflow-y: auto;
        scrollbar-gutter: stable; scrollbar-size-vertical: 1; background: $background;
        scrollbar-background: $background; scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        scrollbar-color: $panel; scrollbar-color-hover: $accent; scrollbar-color-active: $accent;
    }
    """

    def __init__(self, palette: Palette, now: Callable[[], float], keys: KeyBindings, id: str | None) -> None:  # noqa: A002  Textual's
        super().__init__(id=id)
        self.document = Document(now, keys)
        self.document.on_refit = self._refitted
        self.follows = True
        self._palette = palette
        self._anchor = (0, 0)
        self._seen = (0, 0)
        self._settling = False
        self._strips: dict[int, tuple[DrawnLine, Strip]] = {}
        self._clocks: dict[str, Timer] = {}

    @property
    def palette(self) -> Palette:
        """The colours."""
        return self._palette

    @palette.setter
    def palette(self, palette: Palette) -> None:
        self._palette = palette
        self._strips.clear()
        self.refresh()

    @property
    def new_lines(self) -> int:
        """How many lines were added at the end since the view does not follow it."""
        if self.follows or not self.document.entries:
            return 0
        number, rows = self._seen
        return max(0, self.document.total - self.document.row(self.document.index(number), rows))

    def scroll_rows(self, rows: int) -> None:
        """Scroll down by this many rows; up, if negative."""
        self.scroll_to(y=self.scroll_offset.y + rows, animate=False)

    def show_line(self, index: int, number: int) -> None:
        """Scroll as little as possible so that a line is visible."""
        self.document.lines(index)
        row = self.document.row(index, number)
        top, height = self.scroll_offset.y, self.size.height
        if not top <= row < top + height - 1:
            self.hold_at(row - (1 if row < top else height - 2))
            self._settle()

    def hold_at(self, row: int) -> None:
        """Let the viewport begin at a row from now on."""
        self._unfollow()
        self._hold(max(0, row))

    def go_to_end(self) -> None:
        """Show the end, and follow it."""
        self.follows = True
        self._settle()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Hold the viewport at the line that was scrolled to."""
        if self._settling and not self.follows and self.show_vertical_scrollbar:
            # The visible lines are the same as before: only rows above them have changed.
            self.vertical_scrollbar.position = new_value
            return
        super().watch_scroll_y(old_value, new_value)
        if not self._settling and round(old_value) != round(new_value):
            if round(new_value) < self.max_scroll_y:
                self._unfollow()
            self.follows = round(new_value) >= self.max_scroll_y
            self._hold(round(new_value))
            self._settle()

    def on_resize(self) -> None:
        """Draw the visible blocks for the new width; the others follow in idle time."""
        columns, document = max(1, self.size.width - 2 * PADDING), self.document
        if columns != document.columns:
            if document.entries and not self.follows:
                self._resize_held(columns)
            else:
                document.resize(columns)
            self._strips.clear()
        self._settle()
        self.refresh()

    def _resize_held(self, columns: int) -> None:
        """Draw for another width; the text at the top of the viewport stays there, and new lines stay new."""
        document, (held, number), (last, rows) = self.document, self._anchor, self._seen
        index, end = document.index(held), document.index(last)
        if document.is_long(index) and document.is_long(end):
            document.resize(columns)  # the lines stay as they are until they are fitted
            return
        before, seen = characters_before(document.lines(index), number), characters_before(document.lines(end), rows)
        document.resize(columns)
        self._anchor = held, line_with(document.lines(index), before) if number > 0 else number
        self._seen = last, line_with(document.lines(end), seen - 1) + 1

    def _refitted(self, block: int, start: int, old: list[DrawnLine], new: list[DrawnLine]) -> None:
        """Let the viewport begin with the same text, and new lines stay new."""

        def moved(place: tuple[int, int]) -> tuple[int, int]:
            number, line = place
            if number != block or line < start:
                return place
            if line >= start + len(old):
                return number, line + len(new) - len(old)
            return number, start + line_with(new, characters_before(old, line - start))

        self._anchor, self._seen = moved(self._anchor), moved(self._seen)

    def render_line(self, y: int) -> Strip:
        """Draw one row of the viewport."""
        edge = self._edge_line() if y == self.size.height - 1 else None
        if edge is not None:
            return line_strip(edge, self.size.width, self._palette)
        row = self.scroll_offset.y + y
        if row >= self.document.total:
            return line_strip((), self.size.width, self._palette)
        index, number = self.document.locate(row)
        lines = self.document.lines(index)
        if not 0 <= number < len(lines):
            return line_strip((), self.size.width, self._palette)
        return self._line_strip(index, number, lines[number])

    def _edge_line(self) -> Line | None:
        """The line at the lower edge, in place of the last row; None if there is nothing to say."""
        if not self.new_lines:
            return None
        return Span(f"↓ {format_count(self.new_lines, 'new line')}", Role.ACCENT), Span(" · end", Role.MUTED)

    def _line_strip(self, index: int, number: int, line: DrawnLine) -> Strip:
        cursor, marked = self._has_cursor(index), self._marked(index, number, line)
        entry = self.document.entries[index]
        is_written = entry.is_open and entry.stream is not None and number == len(entry.lines or ()) - 1
        if cursor or marked or is_written:
            spans = (*line.spans, CARET) if is_written else line.spans
            return line_strip(spans, self.size.width, self._palette, cursor=cursor, marked=marked)
        held = self._strips.get(id(line))
        if held is None or held[0] is not line:
            if len(self._strips) > MAX_STRIPS:
                self._strips.clear()
            held = self._strips[id(line)] = line, line_strip(line.spans, self.size.width, self._palette)
        return held[1]

    def _has_cursor(self, _index: int) -> bool:
        return False

    def _marked(self, _index: int, _number: int, _line: DrawnLine) -> list[Highlighted]:
        return []

    def _wake(self, timer: str) -> None:
        if timer in self._clocks:
            self._clocks[timer].resume()

    def _hold(self, row: int) -> None:
        """Make the line at a row the anchor."""
        if self.document.entries:
            index, line = self.document.locate(row)
            self._anchor = self.document.entries[index].id, line

    def _anchor_row(self) -> int:
        if not self.document.entries:
            return 0
        index = self.document.index(self._anchor[0])
        return self.document.row(index, min(self._anchor[1], max(0, self.document.entries[index].rows - 1)))

    def _unfollow(self) -> None:
        """Stop following the end, if the viewport does; what is added from now on is new."""
        if self.follows and self.document.entries:
            last = self.document.entries[-1]
            self.follows, self._seen = False, (last.id, last.rows)

    def _settle(self, changed: int = 0) -> None:
        """Draw the blocks in and near the viewport, put it where it is held, and paint the rows from `changed` on."""
        height = self.size.height
        if not height:
            return
        document, row, before = self.document, self._held_row(), -1
        while row != before:
            document.draw_rows(row - PAGES_AROUND * height, row + (PAGES_AROUND + 1) * height)
            row, before = self._held_row(), row
        self._settling = True
        self._set_total(document.total)
        self.scroll_y = self.scroll_target_y = row
        self._settling = False
        if self.scroll_offset.y >= self.max_scroll_y:
            self.follows = True
        if not document.is_drawn:
            self._wake("idle")
        first = max(0, changed - self.scroll_offset.y)
        self.refresh(Region(0, min(first, height - 1), self.size.width, height))

    def _set_total(self, rows: int) -> None:
        """Change the size of what is scrolled without a layout of the screen, which would paint everything again."""
        self.set_reactive(Viewport.virtual_size, Size(self.size.width, rows))
        self.show_vertical_scrollbar = rows > self.size.height
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.window_virtual_size = rows
            self.vertical_scrollbar.window_size = self.size.height

    def _held_row(self) -> int:
        return max(0, self.document.total - self.size.height) if self.follows else max(0, self._anchor_row())
