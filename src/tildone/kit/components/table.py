"""Tables of Markdown: their cells, and how they are fitted to the width of a screen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tildone.kit.components.fitting import DrawnLine, Line, Safe, fitted_row, lines_of, wrapped
from tildone.kit.components.row import Row, Spans, Table
from tildone.kit.text import display_width
from tildone.kit.theme import Role, Span, plain
from tildone.value import replace

MIN_CELL_COLUMNS = 5
"""Columns that a cell needs. A table with less room is shown as a list."""

_EDGE = " │ "
_DASHES = re.compile(r":?-+:?")
_PIPE = re.compile(r"(?<!\\)\|")


def cells_of(line: str) -> list[str]:
    """Return the cells of a line of a table; none if the line has no pipe."""
    cells = _PIPE.split(line.strip())
    if len(cells) == 1:
        return []
    first, last = int(not cells[0]), len(cells) - int(not cells[-1])
    return [cell.strip().replace(r"\|", "|") for cell in cells[first:last]]


def alignments(line: str) -> str:
    """Return the alignment of each column of a table, if this is the line below a header; else an empty string."""
    cells = cells_of(line)
    if not all(map(_DASHES.fullmatch, cells)):
        return ""
    return "".join("^" if cell[0] == cell[-1] == ":" else ">" if cell[-1] == ":" else "<" for cell in cells)


def table_rows(table: Table) -> Iterator[Row]:
    """Yield a table with every cell on one line."""
    widths = _natural_widths(table)
    for cells in (_bold(table.header), None, *table.body):
        yield Row(tuple(_rule(widths) if cells is None else _joined(cells, widths, table.aligns)), wide=True)


def fitted_table(table: Table, columns: int, safe: Safe) -> Iterator[DrawnLine]:
    """Yield the lines of a table: its widest columns are wrapped; where that is not enough, it becomes a list."""
    sanitized = _sanitized(table, safe)
    widths = _fitting_widths(_natural_widths(sanitized), columns)
    if not widths:
        yield from _as_list(sanitized, columns, safe)
        return
    for cells in (_bold(sanitized.header), None, *sanitized.body):
        if cells is None:
            yield DrawnLine(tuple(_rule(widths)))
        else:
            yield from (DrawnLine(tuple(line)) for line in _wrapped_cells(cells, widths, table.aligns))


def _natural_widths(table: Table) -> list[int]:
    columns = zip(table.header, *table.body, strict=True)
    return [max(1, *(display_width(plain(cell)) for cell in column)) for column in columns]


def _fitting_widths(natural: Sequence[int], columns: int) -> list[int]:
    """The widths of the columns, of which the widest are made equally narrow; empty if they do not fit."""
    room = columns - len(_EDGE) * (len(natural) - 1)
    widths = list(natural)
    for done, width in enumerate(sorted(natural)):
        cap = room // (len(natural) - done)
        if width > cap:
            return [min(each, cap) for each in natural] if cap >= MIN_CELL_COLUMNS else []
        room -= width
    return widths


def _sanitized(table: Table, safe: Safe) -> Table:
    header, *body = [tuple(tuple(lines_of(cell, safe)[0]) for cell in row) for row in (table.header, *table.body)]
    return replace(table, header=header, body=tuple(body))


def _as_list(table: Table, columns: int, safe: Safe) -> Iterator[DrawnLine]:
    for number, cells in enumerate(table.body):
        if number:
            yield DrawnLine()
        for name, cell in zip(table.header, cells, strict=True):
            yield from fitted_row(Row(cell, (Span((*name, Span(": ")), Role.MUTED),)), columns, safe)


def _wrapped_cells(cells: Sequence[Spans], widths: Sequence[int], aligns: str) -> Iterator[Line]:
    parts = [[line for line, _ in wrapped([*cell], width)] for cell, width in zip(cells, widths, strict=True)]
    for number in range(max(map(len, parts))):
        yield _joined([tuple(part[number]) if number < len(part) else () for part in parts], widths, aligns)


def _joined(cells: Sequence[Spans], widths: Sequence[int], aligns: str) -> Line:
    line: Line = []
    for number, (cell, width, align) in enumerate(zip(cells, widths, aligns, strict=True)):
        if number:
            line.append(Span(_EDGE, Role.DIM))
        room = width - display_width(plain(cell))
        before = {"<": 0, ">": room, "^": room // 2}[align]
        after = 0 if number == len(widths) - 1 else room - before
        line += [part for part in (Span(" " * before), *cell, Span(" " * after)) if part.text]
    return line


def _rule(widths: Sequence[int]) -> Line:
    return [Span("─┼─".join("─" * width for width in widths), Role.DIM)]


def _bold(cells: Sequence[Spans]) -> list[Spans]:
    return [tuple(replace(span, bold=True) for span in cell) for cell in cells]
