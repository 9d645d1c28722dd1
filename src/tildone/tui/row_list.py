"""A list of rows with a cursor, and lines without one. Only the visible rows are drawn, however many there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.message import Message
from textual.strip import Strip

from tildone.kit.theme import Role, Span
from tildone.tui.painting import painted
from tildone.tui.palette import Palette
from tildone.tui.resized import ResizedWidget
from tildone.value import value

Line = tuple[Span, ...]

CURSOR = "▎"
WHEEL_ROWS = 3


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
        """The line, as it is now."""
        return self.line() if callable(self.line) else self.line


class Lines(ResizedWidget):
    """Lines that are drawn from the top. `build` returns them for a number of columns; `raised` is the background."""

    DEFAULT_CSS = "Lines { height: 1; }"

    def __init__(self, palette: Palette, *, raised: bool = False, id: str | None = None) -> None:  # noqa: A002  Textual's
        super().__init__(id=id)
        self._palette = palette
        self._raised = raised
        self._build: Callable[[int], Sequence[Line]] = lambda _: ()
        self._lines: Sequence[Line] = ()

    def show(self, build: Callable[[int], Sequence[Line]]) -> None:
        """Draw these lines from now on."""
        self._build = build
        self._lines = build(self.size.width)
        self.refresh()

    def on_resize(self) -> None:
        """Build the lines for the new width."""
        self.show(self._build)

    def render_line(self, y: int) -> Strip:
        """Draw one line."""
        line = self._lines[y] if y < len(self._lines) else ()
        background = self._palette.bar if self._raised else self._palette.background
        return painted(line, self.size.width, self._palette, background)


class RowList(ResizedWidget, can_focus=True):
    """A list of rows with a cursor, which stays on its row when the rows change.

    The cursor is drawn while the list has the focus, or always if it `is_always_active`, as below a field.
    """

    DEFAULT_CSS = "RowList { height: 1fr; }"

    class CursorMoved(Message):
        """The cursor stands on another row."""

        def __init__(self, rows: RowList, key: str) -> None:
            super().__init__()
            self.rows, self.key = rows, key

    def __init__(self, palette: Palette, *, id: str | None = None) -> None:  # noqa: A002  Textual's
        super().__init__(id=id)
        self.key = ""
        self.is_always_active = False
        self._palette = palette
        self._build: Callable[[int], Sequence[ListRow]] = lambda _: ()
        self._rows: Sequence[ListRow] = ()
        self._top = 0

    @property
    def keys(self) -> list[str]:
        """The keys of the rows, in order."""
        return [key for key in dict.fromkeys(row.key for row in self._rows) if key]

    def show(self, build: Callable[[int], Sequence[ListRow]]) -> None:
        """Draw these rows from now on. The row with the cursor stays where it is on the screen, if there is room."""
        keys, before = self.keys, self._index() - self._top
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
        self.refresh()

    @property
    def has_selection(self) -> bool:
        """Whether text is selected, which then has the background of the row with the cursor."""
        return False

    @property
    def columns(self) -> int:
        """The columns of a row; the first of the widget is the cursor's."""
        return max(0, self.size.width - 1)

    def select(self, key: str) -> None:
        """Put the cursor on a row, if there is one with this key."""
        if key in self.keys:
            self._select(key)
            self._keep_visible()
            self.refresh()

    def action_move(self, rows: int) -> None:
        """Move the cursor down by this many rows; up, if negative."""
        keys = self.keys
        if keys:
            place = keys.index(self.key) + rows if self.key in keys else 0
            self.select(keys[max(0, min(place, len(keys) - 1))])

    def action_page(self, pages: int) -> None:
        """Move the cursor by pages."""
        self.action_move(pages * max(1, self.size.height - 2))

    def action_first(self) -> None:
        """Move the cursor to the first row."""
        self.action_move(-len(self._rows))
        self._top = 0

    def action_last(self) -> None:
        """Move the cursor to the last row."""
        self.action_move(len(self._rows))

    def on_resize(self) -> None:
        """Build the rows for the new width."""
        self.show(self._build)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the row below the mouse."""
        self.select(self.key_at(event.y))

    def key_at(self, y: int) -> str:
        """Return the key of the row that is drawn there; empty if there is none, or it has none."""
        index = self._top + y
        return self._rows[index].key if 0 <= index < len(self._rows) else ""

    def on_mouse_scroll_down(self) -> None:
        """Scroll down; the cursor stays."""
        self.scroll_rows(WHEEL_ROWS)

    def on_mouse_scroll_up(self) -> None:
        """Scroll up; the cursor stays."""
        self.scroll_rows(-WHEEL_ROWS)

    def render_line(self, y: int) -> Strip:
        """Draw one row."""
        index = self._top + y
        row = self._rows[index] if 0 <= index < len(self._rows) else ListRow(())
        is_selected = bool(row.key) and row.key == self.key
        in_use = is_selected and (self.has_focus or self.is_always_active)
        mark = self.mark_at(index) or (CURSOR if in_use else " ")
        palette = self._palette
        is_lit = in_use and not self.has_selection
        background = palette.selected if is_lit else palette.bar if is_selected else palette.background
        return painted((Span(mark, Role.ACCENT), *row.spans), self.size.width, palette, background)

    def mark_at(self, _index: int) -> str:
        """Return what to draw before a row in place of the cursor; empty for nothing."""
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
        """Scroll by this many rows; the cursor stays."""
        self._top = max(0, min(self._top + rows, len(self._rows) - self.size.height))
        self.refresh()
