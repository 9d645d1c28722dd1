"""Lines as rows of cells: the mark of the cursor, the line, and what is marked in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import pairwise

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tildone.kit.theme import Role, Span, plain
from tildone.tui.palette import Palette

PADDING = 2
"""Columns left of a line: the first is for the cursor's mark."""

CURSOR = "▎"


class Highlight(Enum):
    """Why characters are marked."""

    SELECTED = "selected"
    FOUND = "found"
    CURRENT = "current"


Highlighted = tuple[int, int, Highlight]


def line_strip(
    spans: Sequence[Span], width: int, palette: Palette, *, cursor: bool = False, marked: Sequence[Highlighted] = ()
) -> Strip:
    """Return a line, whose text is printable already, as a row of cells."""
    ground = palette.style(None, palette.background)
    margin = Segment(CURSOR if cursor else " ", palette.style(Role.ACCENT, palette.background))
    segments = [margin, Segment(" " * (PADDING - 1), ground), *_segments(spans, palette, marked)]
    return Strip(segments).adjust_cell_length(width, ground)


def _segments(spans: Sequence[Span], palette: Palette, marked: Sequence[Highlighted]) -> Iterator[Segment]:
    at = 0
    for span in spans:
        text = plain((span,))
        edges = {min(max(edge - at, 0), len(text)) for start, end, _ in marked for edge in (start, end)}
        for start, end in pairwise(sorted({0, len(text), *edges})):
            yield Segment(
                text[start:end], _style(span, [mark for mark in marked if mark[0] <= at + start < mark[1]], palette)
            )
        at += len(text)


def _style(span: Span, marked: Sequence[Highlighted], palette: Palette) -> Style:
    # What a program has written is less important than what was said.
    role, background = Role.MUTED if span.role is Role.TOOL_OUTPUT else span.role, palette.background
    found = Style()
    for _, _, mark in marked:
        match mark:
            case Highlight.SELECTED:
                background = palette.selected
            case Highlight.FOUND:
                role, found = Role.WARNING, Style(reverse=True)
            case Highlight.CURRENT:
                role, found = Role.ACCENT, Style(reverse=True)
    shape = Style(bold=span.bold, italic=span.italic, strike=span.strike)
    return palette.style(role, background) + shape + found
