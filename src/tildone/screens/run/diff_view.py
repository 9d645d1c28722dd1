"""A diff as lines of spans: unified with line numbers, or side by side, and where its hunks begin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from tildone.base import value
from tildone.plan.text.styles import Role, Span, display_width, wrap_text
from tildone.screens.widgets.keys import Line

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_NUMBER_COLUMNS = 5


@value
class DiffLine:
    """A line of a diff. `sign` is `+`, `-`, a space, or `@` at the beginning of a hunk."""

    sign: str
    text: str
    old: int = 0
    new: int = 0


def parse_diff(lines: Sequence[str]) -> list[DiffLine]:
    """Return the lines of a unified diff, with their numbers. Lines before the first hunk are kept as context."""
    old = new = 0
    found: list[DiffLine] = []
    for line in lines:
        hunk = _HUNK.match(line)
        sign, text = (line[:1], line[1:]) if line[:1] in ("+", "-", " ") else (" ", line)
        if hunk:
            old, new = int(hunk[1]), int(hunk[2])
            found.append(DiffLine("@", line, old, new))
            continue
        found.append(DiffLine(sign, text, old, new))
        old += sign != "+"
        new += sign != "-"
    return found


def unified(diff: Sequence[DiffLine], columns: int) -> list[list[Line]]:
    """Return the rows of each line of the diff; a long line is wrapped, so that nothing is hidden."""
    return [_unified(line, max(8, columns - _NUMBER_COLUMNS - 3)) for line in diff]


def fits_side_by_side(diff: Sequence[DiffLine], columns: int) -> bool:
    """Return whether every line fits into half of the columns."""
    room = (columns - 3) // 2 - _NUMBER_COLUMNS - 3
    return all(display_width(line.text) <= room for line in diff if line.sign != "@")


def side_by_side(diff: Sequence[DiffLine], columns: int) -> list[Line]:
    """Return the old text on the left and the new one on the right."""
    half = max(1, (columns - 3) // 2)
    rows: list[Line] = []
    removed: list[DiffLine] = []
    added: list[DiffLine] = []
    for line in (*diff, DiffLine("", "")):
        if line.sign == "-":
            removed.append(line)
        elif line.sign == "+":
            added.append(line)
        else:
            rows += _pairs(removed, added, half)
            removed, added = [], []
            if line.sign == "@":
                rows.append((Span(line.text, Role.DIM),))
            elif line.sign:
                rows.append(
                    (*_cell(line, line.old, None, half), Span(" │ ", Role.DIM), *_cell(line, line.new, None, 0))
                )
    return rows


def _unified(line: DiffLine, columns: int) -> list[Line]:
    if line.sign == "@":
        return [(Span(line.text, Role.DIM),)]
    role = {"+": Role.SUCCESS, "-": Role.ERROR}.get(line.sign)
    number = line.new if line.sign == "+" else line.old
    first, *more = wrap_text(line.text, columns) or [""]
    lead = Span(f"{number or '':>{_NUMBER_COLUMNS}} ", Role.DIM)
    rows: list[Line] = [(lead, Span(f"{line.sign} {first}", role))]
    return rows + [(Span(" " * (_NUMBER_COLUMNS + 3)), Span(text, role)) for text in more]


def _pairs(removed: Sequence[DiffLine], added: Sequence[DiffLine], half: int) -> Iterator[Line]:
    for old, new in zip_longest(removed, added):
        left = _cell(old, old.old, Role.ERROR, half) if old else (Span(" " * half),)
        right = _cell(new, new.new, Role.SUCCESS, 0) if new else ()
        yield (*left, Span(" │ ", Role.DIM), *right)


def _cell(line: DiffLine, number: int, role: Role | None, width: int) -> Line:
    lead = f"{number or '':>{_NUMBER_COLUMNS}} "
    text = f"{line.sign} {line.text}"
    text += " " * max(0, width - len(lead) - display_width(text))
    return Span(lead, Role.DIM), Span(text, role)
