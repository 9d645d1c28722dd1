"""A list of rows with a cursor, and lines without one. Only the visible rows are drawn, however many there are.

The text of a list can be selected with the mouse. Nothing is copied until a key says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.segment import Segment
from textual import events
from textual.events import Resize
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from tildone.base import value
from tildone.base.keys import KeyBindings, key_names
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Role, Span, display_width, plain
from tildone.screens.transcript.document import character_at, word_at
from tildone.screens.widgets.keys import Line, Palette, painted


class ResizedWidget(Widget):
    """A widget that gets a `Resize` after each layout that has changed its size.

    Textual compares the sizes after a layout with those before it, and sends `Resize` to the widgets whose size
    differs. If a region is read between the change of a style and the layout, Textual computes the new sizes then,
    finds no difference later, and sends nothing. What depends on the size would stay as it was.
    """

    _told_size = Size(0, 0)

    def on_mount(self) -> None:
        """Look at the size after each layout. Textual calls this besides the `on_mount` of a subclass."""
        self.screen.screen_layout_refresh_signal.subscribe(self, self._laid_out)

    def on_resize(self) -> None:
        """Keep the size that the last layout gave. Textual calls this besides the `on_resize` of a subclass."""
        self._told_size = self.outer_size

    def _laid_out(self, _screen: Screen[object]) -> None:
        if self.outer_size != self._told_size:
            self.post_message(Resize(self.size, self.virtual_size, self.container_size))


Place = tuple[int, int]
"""A row, and a character of its text."""

CURSOR = "▎"
WHEEL_ROWS = 3
EDGE_SECONDS = 0.05
WORD_CLICKS, LINE_CLICKS = 2, 3


@value
class ListRow:
    """A row of a list. Rows with the same key belong together; the cursor stands on the first of them.

    A row without a key, such as a heading, cannot have the cursor. The line may be a function, which is called when the
    row is drawn.

    What can be selected is `text`, which begins after the cells of the `gutter`; without one, it is the line. `joint`
    is what was between this row and the one before where a text was wrapped; None at the beginning of a text.
    """

    line: Line | Callable[[], Line]
    key: str = ""
    text: str | None = None
    gutter: int = 0
    joint: str | None = None

    @property
    def spans(self) -> Line:
        return self.line() if callable(self.line) else self.line


class Lines(ResizedWidget):
    DEFAULT_CSS = "Lines { height: 1; }"

    def __init__(self, palette: Palette, *, raised: bool = False, id: str | None = None) -> None:  # noqa: A002  Textual's
        super().__init__(id=id)
        self._palette = palette
        self._raised = raised
        self._build: Callable[[int], Sequence[Line]] = lambda _: ()
        self._lines: Sequence[Line] = ()

    def show(self, build: Callable[[int], Sequence[Line]]) -> None:
        self._build = build
        self._lines = build(self.size.width)
        self.refresh()

    def on_resize(self) -> None:
        self.show(self._build)

    def render_line(self, y: int) -> Strip:
        line = self._lines[y] if y < len(self._lines) else ()
        background = self._palette.bar if self._raised else self._palette.background
        return painted(line, self.size.width, self._palette, background)


class RowList(ResizedWidget, can_focus=True):
    """A list of rows with a cursor, which stays on its row when the rows change.

    The cursor is drawn while the list has the focus, or always if it `is_always_active`, as below a field.

    With `keys`, a drag selects text, a double click a word, and a triple click the text of a row. The keys that copy,
    and that end the selection, are those of a conversation.
    """

    DEFAULT_CSS = "RowList { height: 1fr; }"

    @dataclass
    class CursorMoved(Message):
        rows: RowList
        key: str

    class Selected(Message):
        """Text was selected."""

    @dataclass
    class CopyWanted(Message):
        text: str

    def __init__(self, palette: Palette, *, keys: KeyBindings | None = None, id: str | None = None) -> None:  # noqa: A002  Textual's
        super().__init__(id=id)
        self.key = ""
        self.is_always_active = False
        self._palette = palette
        self._build: Callable[[int], Sequence[ListRow]] = lambda _: ()
        self._rows: Sequence[ListRow] = ()
        self._top = 0
        self._select_keys = keys
        self._pressed: Place | None = None
        self._ends: tuple[Place, Place] | None = None
        self._edge: Timer | None = None
        self.was_dragged = False
        """Whether the mouse was moved since it was pressed last."""

    @property
    def keys(self) -> list[str]:
        return [key for key in dict.fromkeys(row.key for row in self._rows) if key]

    def show(self, build: Callable[[int], Sequence[ListRow]]) -> None:
        """Draw these rows from now on. The row with the cursor stays where it is on the screen, if there is room."""
        keys, before, selected = self.keys, self._index() - self._top, self._selected_rows()
        place = keys.index(self.key) if self.key in keys else 0
        self._build = build
        self._rows = build(self.columns)
        if self.key in self.keys:
            self._top = self._index() - before
        elif self.keys:
            self._select(self.keys[min(place, len(self.keys) - 1)])
        else:
            self.key = ""
        self._keep_visible()
        if self._selected_rows() != selected:
            self.clear_selection()
        self.refresh()

    @property
    def has_selection(self) -> bool:
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
        self._ends = None
        self.refresh()

    def press(self, x: int, y: int) -> None:
        self.clear_selection()
        self.was_dragged = False
        self._pressed = self._place_at(x, y)

    def drag_to(self, x: int, y: int) -> None:
        place = self._place_at(x, y)
        if self._pressed is not None and (place != self._pressed or self.has_selection):
            first, end = sorted((self._pressed, place))
            self._ends, self.was_dragged = (first, end), True
            self.refresh()

    def release(self) -> None:
        self._pressed = None
        if self.has_selection:
            self.post_message(self.Selected())

    @property
    def is_dragging(self) -> bool:
        return self._pressed is not None

    @property
    def columns(self) -> int:
        """The columns of a row; the first of the widget is the cursor's."""
        return max(0, self.size.width - 1)

    def select(self, key: str) -> None:
        if key in self.keys:
            self._select(key)
            self._keep_visible()
            self.refresh()

    def action_move(self, rows: int) -> None:
        keys = self.keys
        if keys:
            place = keys.index(self.key) + rows if self.key in keys else 0
            self.select(keys[max(0, min(place, len(keys) - 1))])

    def action_page(self, pages: int) -> None:
        self.action_move(pages * max(1, self.size.height - 2))

    def action_first(self) -> None:
        self.action_move(-len(self._rows))
        self._top = 0

    def action_last(self) -> None:
        self.action_move(len(self._rows))

    def on_resize(self) -> None:
        self.show(self._build)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button == 1 and self._select_keys is not None:
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
        self._stop_edge()
        if self.is_dragging:
            self.release_mouse()
            self.release()

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the row, or select a word or the text of the row. The click after a drag does nothing."""
        if self.was_dragged:
            return
        if event.chain in (WORD_CLICKS, LINE_CLICKS) and self._select_keys is not None and self._rows:
            index, character = self._place_at(event.x, event.y)
            text = _text(self._rows[index])
            start, stop = word_at(text, character) if event.chain == WORD_CLICKS else (0, len(text))
            self._ends = (index, start), (index, stop)
            self.refresh()
            self.post_message(self.Selected())
        self.select(self.key_at(event.y))

    def on_key(self, event: events.Key) -> None:
        if not self.has_selection:
            return
        if self._is_key(event, "task.copy", "transcript.copySelection"):
            self.post_message(self.CopyWanted(self.selected))
        elif not self._is_key(event, "transcript.escape"):
            return
        self.clear_selection()
        event.stop()
        event.prevent_default()

    def key_at(self, y: int) -> str:
        """Return the key of the row that is drawn there; empty if there is none, or it has none."""
        index = self._top + y
        return self._rows[index].key if 0 <= index < len(self._rows) else ""

    def on_mouse_scroll_down(self) -> None:
        self.scroll_rows(WHEEL_ROWS)

    def on_mouse_scroll_up(self) -> None:
        self.scroll_rows(-WHEEL_ROWS)

    def render_line(self, y: int) -> Strip:
        index = self._top + y
        row = self._rows[index] if 0 <= index < len(self._rows) else ListRow(())
        is_selected = bool(row.key) and row.key == self.key
        in_use = is_selected and (self.has_focus or self.is_always_active)
        mark = self.mark_at(index) or (CURSOR if in_use else " ")
        palette = self._palette
        is_lit = in_use and not self.has_selection
        background = palette.selected if is_lit else palette.bar if is_selected else palette.background
        strip = painted((Span(mark, Role.ACCENT), *row.spans), self.size.width, palette, background)
        return self._with_selection(strip, index)

    def mark_at(self, _index: int) -> str:
        return ""

    def _select(self, key: str) -> None:
        if key and key != self.key:
            self.key = key
            self.post_message(self.CursorMoved(self, key))

    def _index(self) -> int:
        """The place of the first row with the cursor; 0 if there is none."""
        return next((index for index, row in enumerate(self._rows) if row.key and row.key == self.key), 0)

    def _keep_visible(self) -> None:
        index, height = self._index(), self.size.height
        size = sum(row.key == self.key for row in self._rows) if self.key else 1
        # The heading above the first row is shown, too.
        start = 0 if self.keys[:1] == [self.key] else index
        top = min(max(self._top, index + min(size, height) - height), start) if height else 0
        self._top = max(0, min(top, len(self._rows) - height))

    def scroll_rows(self, rows: int) -> None:
        self._top = max(0, min(self._top + rows, len(self._rows) - self.size.height))
        self.refresh()

    def _with_selection(self, strip: Strip, index: int) -> Strip:
        if self._ends is None or not self._ends[0][0] <= index <= self._ends[1][0]:
            return strip
        row, (start, stop) = self._rows[index], self._piece(index)
        before = 1 + row.gutter
        text = _text(row)
        first, end = before + display_width(text[:start]), before + display_width(text[:stop])
        selected = self._palette.style(None, self._palette.selected)
        lit = Strip(Segment.apply_style(strip.crop(first, end), post_style=selected))
        return Strip.join([strip.crop(0, first), lit, strip.crop(end)])

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
        return any(event.key in key_names((self._select_keys or {})[action]) for action in actions)


def _text(row: ListRow) -> str:
    return printable(plain(row.spans)) if row.text is None else row.text
