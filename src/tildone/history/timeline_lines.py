"""Rows of a timeline as lines for a terminal."""

from __future__ import annotations

from tildone.history.durations import format_elapsed
from tildone.kit.theme import Role, Span
from tildone.typing import TYPE_CHECKING
from tildone.views.line_layout import hanging_lines

if TYPE_CHECKING:
    from tildone.history.timeline import TimelineRow
    from tildone.views.line_layout import Line, TextAndSuffix


def row_lines(row: TimelineRow, columns: int | None = None) -> list[Line]:
    """A row for a terminal: a line for each thing that was done, none wider than `columns`."""
    lead = (
        Span(row.mark.value, Role.ACCENT),
        Span(f" {row.id}", Role.WARNING),
        Span(f"  {row.when}  {row.who}", Role.MUTED),
    )
    aside = (f"  ({row.label})" if row.label else "") + (f"  after {row.after}" if row.after else "")
    said: list[TextAndSuffix] = []
    for number, text in enumerate(row.what):
        took = row.took[number] if row.took else None
        beside = () if took is None else (Span(f" ({format_elapsed(took)})", Role.MUTED),)
        said.append((Span(text, Role.TEXT), beside if number or not aside else (*beside, Span(aside, Role.ACCENT))))
    return hanging_lines(lead, said, columns)
