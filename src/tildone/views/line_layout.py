"""Layout of lines with a lead: texts beside the lead or, on a narrow terminal, below it."""

from __future__ import annotations

from tildone.kit.text import clip_text, display_width
from tildone.kit.theme import Span, plain
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    Line = tuple[Span, ...]
    TextAndSuffix = tuple[Span, tuple[Span, ...]]

MIN_TEXT_COLUMNS = 24
"""The columns that a text needs to be placed beside its lead."""

GAP, INDENT = "  ", "  "


def hanging_lines(lead: Line, texts: Sequence[TextAndSuffix], columns: int | None = None) -> list[Line]:
    """Return a lead with one line for each text, none wider than `columns`.

    When a text is clipped, its suffix is clipped.
    """
    words = plain(lead)
    lead_width = display_width(words) + len(GAP)
    beside = columns is None or columns - lead_width >= MIN_TEXT_COLUMNS
    margin = lead_width if beside else len(words) - len(words.lstrip(" ")) + len(INDENT)
    width = None if columns is None else columns - margin
    lines = [(Span(" " * margin), *_fitted(*each, width)) for each in texts]
    if beside:
        lines[0] = (*lead, Span(GAP), *lines[0][1:])
    else:
        lines.insert(0, lead)
    return lines if columns is None else [clip_line(line, columns) for line in lines]


def clip_line(line: Line, columns: int) -> Line:
    """Return as much of a line as fits into `columns`."""
    clipped: list[Span] = []
    for span in line:
        text = plain((span,))
        if display_width(text) > columns:
            return (*clipped, replace(span, text=clip_text(text, columns)))
        columns -= display_width(text)
        clipped.append(span)
    return tuple(clipped)


def _fitted(text: Span, suffix: Line, width: int | None) -> Line:
    words = plain((text,))
    if width is None or display_width(words) + display_width(plain(suffix)) <= width:
        return text, *suffix
    return replace(text, text=clip_text(words, max(width - display_width(plain(suffix)), 1))), *suffix
