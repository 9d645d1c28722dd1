"""Charts of block characters for a terminal: columns and bars, exact to an eighth of a cell."""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_COLUMNS = " ▁▂▃▄▅▆▇█"
_BARS = " ▏▎▍▌▋▊▉█"
_EIGHTHS = 8


def column_chart(values: Sequence[int], rows: int) -> list[str]:
    """Return one column per value, in `rows` lines from the top; the largest value takes all of them.

    A value above 0 is always visible.
    """
    largest = max(values, default=0)
    levels = [_level(each, largest, rows) for each in values]
    return ["".join(_COLUMNS[_part(level, row)] for level in levels) for row in reversed(range(rows))]


def bar(amount: int, largest: int, columns: int) -> str:
    """Return a bar of at most `columns`, which the largest amount takes in full; any amount above 0 is visible."""
    level = _level(amount, largest, columns)
    return "".join(_BARS[_part(level, column)] for column in range(columns)).rstrip()


def _level(amount: int, largest: int, cells: int) -> int:
    return max(round(amount * cells * _EIGHTHS / largest), 1) if amount > 0 else 0


def _part(level: int, cell: int) -> int:
    return min(max(level - cell * _EIGHTHS, 0), _EIGHTHS)
