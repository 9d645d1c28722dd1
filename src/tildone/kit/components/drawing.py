"""Drawing of components: wrapped to the terminal's width, with sanitized text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from unicodedata import category

from tildone.kit import theme
from tildone.kit.components import Component
from tildone.kit.components.fitting import DrawnLine, Line, Safe, fitted_row
from tildone.kit.components.layout import rows
from tildone.kit.components.row import Row, Table
from tildone.kit.components.table import fitted_table, table_rows
from tildone.kit.keys import DEFAULT_BINDINGS, KeyBindings

REPLACEMENT = "\ufffd"


def mask_unprintable(text: str) -> str:
    """Return the text with every unprintable character, line breaks included, replaced by U+FFFD."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or category(char) == "Zs" else REPLACEMENT for char in text)


def draw(
    component: Component,
    columns: int,
    *,
    safe: Safe = mask_unprintable,
    keys: KeyBindings = DEFAULT_BINDINGS,
) -> list[Line]:
    """Return the lines of a component, none wider than `columns`; no lines if `columns` is less than 1.

    `safe` sanitizes one line. It has been applied to all text of the result: applying it again could widen lines.
    """
    return [[*line.spans] for line in fitted(rows(component, keys), columns, safe=safe)]


def fitted(
    laid_out: Iterable[Row | Table], columns: int, *, safe: Safe, prose_columns: int | None = None
) -> Iterator[DrawnLine]:
    """Yield the lines of rows, none wider than `columns`; no lines if `columns` is less than 1.

    Text that is not `wide` is kept within `prose_columns`.
    """
    if columns < 1:
        return
    narrow = columns if prose_columns is None else min(columns, prose_columns)
    for row in laid_out:
        if isinstance(row, Table):
            yield from fitted_table(row, columns, safe)
        else:
            yield from fitted_row(row, columns if row.wide else narrow, safe)


def markup(component: Component, *, keys: KeyBindings = DEFAULT_BINDINGS) -> str:
    """Return the component with a tag for each style, one line per row; neither wrapped nor sanitized."""
    laid_out = rows(component, keys)
    lines = (line for row in laid_out for line in (table_rows(row) if isinstance(row, Table) else (row,)))
    return "\n".join(theme.markup((*row.lead, *row.body)) for row in lines)
