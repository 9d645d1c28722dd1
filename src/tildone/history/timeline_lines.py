"""Rows of a timeline as lines for a terminal."""

from __future__ import annotations

from tildone.kit.text import display_width
from tildone.kit.theme import Role, Span
from tildone.typing import TYPE_CHECKING
from tildone.views.amounts import elapsed
from tildone.views.line_layout import hanging_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.history.timeline import TimelineRow
    from tildone.views.line_layout import Line, TextAndSuffix


def rows_lines(rows: Sequence[TimelineRow], columns: int | None = None) -> list[Line]:
    """Return the lines of several rows, with the authors in one column."""
    width = max((display_width(row.who) for row in rows), default=0)
    return [line for row in rows for line in row_lines(row, columns, width)]


def row_lines(row: TimelineRow, columns: int | None = None, who_width: int = 0) -> list[Line]:
    """Return the lines of a row: one for each description, none wider than `columns`.

    The author is padded to `who_width` columns.
    """
    padding = " " * (who_width - display_width(row.who))
    lead = (
        Span(row.mark.value, Role.ACCENT),
        Span(f" {row.id}", Role.WARNING),
        Span(f"  {row.when}  {row.who}{padding}", Role.MUTED),
    )
    note = (f"  ({row.label})" if row.label else "") + (f"  after {row.after}" if row.after else "")
    texts: list[TextAndSuffix] = []
    for number, text in enumerate(row.what):
        duration = row.durations[number] if row.durations else None
        suffix: Line = () if duration is None else (Span(f" ({elapsed(duration)})", Role.MUTED),)
        if note and not number:
            suffix = (*suffix, Span(note, Role.ACCENT))
        texts.append((Span(text, Role.TEXT), suffix))
    return hanging_lines(lead, texts, columns)
