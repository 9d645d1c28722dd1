"""Draws lines of spans as rows of cells. Text is data: it is made printable, and is never read as markup."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tildone.kit.text import display_width
from tildone.kit.theme import Span, plain
from tildone.tui.palette import Palette
from tildone.typing import TYPE_CHECKING
from tildone.views.line_layout import clip_line
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    Line = tuple[Span, ...]


def width_of(line: Line) -> int:
    return display_width(plain(line))


def padded(line: Line, columns: int) -> Line:
    """Return the line in exactly this many columns."""
    clipped = clip_line(line, columns) if width_of(line) > columns else line
    return *clipped, Span(" " * max(0, columns - width_of(clipped)))


def spread(left: Line, right: Line, columns: int) -> Line:
    """Return a line with a part at each end; the left one is clipped if there is not enough room for both."""
    room = columns - width_of(right)
    return (*padded(left, room), *right) if room > 0 else padded(left, columns)


def painted(line: Line, columns: int, palette: Palette, background: str) -> Strip:
    """Return a line as a row of cells that is as wide as the widget; a line that is too long ends with `…`."""
    shown = clip_line(line, columns) if width_of(line) > columns else line
    segments = [*_segments(shown, palette, background)]
    ground = palette.style(None, background)
    return Strip(segments).adjust_cell_length(columns, ground)


def _segments(line: Line, palette: Palette, background: str) -> Iterator[Segment]:
    for span in line:
        text = span.text if isinstance(span.text, str) else plain(span.text)
        style = palette.style(span.role, background) + Style(bold=span.bold, italic=span.italic, strike=span.strike)
        yield Segment(printable(text), style)
