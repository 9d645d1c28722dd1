"""The statistics of a plan as pictures for a terminal: open tasks over time, marks below them, and bars per task."""

from __future__ import annotations

from bisect import bisect_right

from tildone.core.plan import Status
from tildone.history.stats import MarkKind
from tildone.history.stats_words import (
    LEGEND,
    estimate_sentence,
    heading,
    left_out_sentence,
    shown_tasks,
    usage_sentence,
)
from tildone.kit.text import display_width, wrap_text
from tildone.kit.theme import Role, Span, plain
from tildone.typing import TYPE_CHECKING
from tildone.views.amounts import about, dollars, elapsed, token_count
from tildone.views.block_chart import bar, column_chart
from tildone.views.line_layout import GAP, INDENT, clip_line
from tildone.views.plan_lines import task_line
from tildone.views.sanitize import printable
from tildone.views.time_axis import time_axis

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tildone.history.stats import Stats, TaskStats
    from tildone.views.line_layout import Line
    from tildone.views.time_axis import TimeAxis

MIN_COLUMNS, DEFAULT_COLUMNS = 40, 80
"""Narrower terminals get lines of the first width; the second is for output that is not a terminal."""

CHART_COLUMNS, CHART_ROWS = 60, 8
BREAK_COLUMNS = 2
MAX_BAR_COLUMNS, MAX_TASK_COLUMNS = 30, 60
MAX_TASKS = 40
MIN_FREE_COLUMNS = 20
"""How much room is left for a task and its bar; otherwise, fewer amounts are shown."""

BREAK = "╱"
UNKNOWN = "–"
_ROLES = {
    MarkKind.CHANGE: Role.DIM,
    MarkKind.NUDGE: Role.WARNING,
    MarkKind.PERSON: Role.ACCENT,
    MarkKind.LABEL: Role.ACCENT,
    MarkKind.LET_GO: Role.ERROR,
}


def stats_lines(title: str, stats: Stats, when: Callable[[int], str], columns: int | None = None) -> list[Line]:
    """Return the pictures; no line is wider than `columns` or `MIN_COLUMNS`. `when` formats a time."""
    width = DEFAULT_COLUMNS if columns is None else max(columns, MIN_COLUMNS)
    shown, left_out = shown_tasks(stats, MAX_TASKS)
    lines: list[Line] = [
        (Span(printable(heading(title, stats)), bold=True),),
        (),
        (Span("Open tasks" if stats.has_course else "Events", Role.MUTED),),
        *_burn_down(stats, when, width),
        *_legend(stats, width),
        *_sentence(estimate_sentence(stats), width),
        (),
    ]
    lines += [(Span("Time in progress", Role.MUTED),), *_bars(shown, width)] if shown else []
    lines += _sentence(left_out_sentence(stats, left_out), width) if left_out else []
    lines += _sentence(usage_sentence(stats), width)
    return [clip_line(line, width) for line in lines]


def _burn_down(stats: Stats, when: Callable[[int], str], width: int) -> list[Line]:
    """The open tasks as columns, the time axis below them, and a row for each kind of mark."""
    most = max(count for _, count in stats.open_steps)
    margin = len(str(most)) + 1
    columns = min(CHART_COLUMNS, width - margin - 1)
    axis = time_axis(stats.times, columns, BREAK_COLUMNS)
    chart = column_chart(_open_by_column(stats, axis, columns), CHART_ROWS)
    lines: list[Line] = []
    for row, text in enumerate(chart if stats.has_course else ()):
        number = str(most) if row == 0 else ""
        lines.append((Span(f"{number:>{margin - 1}} │", Role.MUTED), Span(text.rstrip(), Role.ACCENT)))
    zero = "0" if stats.has_course else ""
    lines.append((Span(f"{zero:>{margin - 1}} └{_axis_row(axis, columns)}", Role.MUTED),))
    lines += [(Span(f"{' ' * margin} {text}", Role.MUTED),) for text in _ends(stats, when, columns)]
    for kind in LEGEND:
        if marks := stats.of_kind(kind):
            taken = {_column(axis, mark.at, columns) for mark in marks}
            row_text = "".join(kind.value if column in taken else " " for column in range(columns)).rstrip()
            lines.append((Span(" " * (margin + 1)), Span(row_text, _ROLES[kind])))
    return lines


def _open_by_column(stats: Stats, axis: TimeAxis, columns: int) -> list[int]:
    """The number of open tasks at the end of each column; the last one is that of the end."""
    places = [_column(axis, at, columns) for at, _ in stats.open_steps]
    indices = (bisect_right(places, column) - 1 for column in range(columns))
    return [stats.open_steps[index][1] if index >= 0 else 0 for index in indices]


def _column(axis: TimeAxis, at: int, columns: int) -> int:
    return min(int(axis.place(at)), columns - 1)


def _axis_row(axis: TimeAxis, columns: int) -> str:
    row = ["─"] * columns
    for part in axis.breaks:
        middle = min(int((part.left + part.right) / 2), columns - 1)
        for column in range(min(int(part.left), middle), max(int(part.right), middle + 1)):
            row[min(column, columns - 1)] = BREAK
    return "".join(row)


def _ends(stats: Stats, when: Callable[[int], str], columns: int) -> list[str]:
    """The times at both ends of the axis: on one line, or on two if that is too narrow."""
    first, last = when(stats.times[0]), when(stats.times[-1])
    if first == last:
        return [first]
    if len(first) + len(GAP) + len(last) > columns:
        return [first, last.rjust(columns)]
    return [first + last.rjust(columns - len(first))]


def _legend(stats: Stats, width: int) -> list[Line]:
    """The signs with their meaning and number, as many on a line as fit."""
    entries = [
        (Span(kind.value, _ROLES[kind]), Span(f" {meaning}: {len(stats.of_kind(kind))}"))
        for kind, meaning in LEGEND.items()
        if stats.of_kind(kind)
    ]
    axis = time_axis(stats.times, width, BREAK_COLUMNS)
    if axis.breaks:
        quiet = sum(part.end - part.start for part in axis.breaks)
        entries.append((Span(BREAK * 2, Role.MUTED), Span(f" no events: {about(quiet)}")))
    lines: list[Line] = []
    for entry in entries:
        joined = (*lines[-1], Span(GAP), *entry) if lines else entry
        if lines and display_width(plain(joined)) <= width:
            lines[-1] = joined
        else:
            lines.append(entry)
    return lines


def _bars(shown: Sequence[TaskStats], width: int) -> list[Line]:
    """One line per task: the task, the time in progress, what else is known, and a bar. What does not fit is below."""
    beside, below = _amounts(shown, width)
    amounts = [f"{GAP}{GAP.join(cells)}{GAP}" for cells in zip(*beside, strict=True)]
    free = width - len(amounts[0])
    texts = [task_line(entry.task) for entry in shown]
    widest = max(display_width(plain(text)) for text in texts)
    text_width = min(widest, MAX_TASK_COLUMNS, free - min(MAX_BAR_COLUMNS, free * 2 // 5))
    longest = max(entry.worked or 0 for entry in shown)
    columns = min(MAX_BAR_COLUMNS, free - text_width)
    lines: list[Line] = []
    for place, (entry, text, amount) in enumerate(zip(shown, texts, amounts, strict=True)):
        row = Span(bar(entry.worked or 0, longest, columns), _bar_role(entry))
        lines.append((*_padded(text, text_width), Span(amount), row))
        rest = [cells[place].strip() for cells in below if cells[place].strip() not in {"", UNKNOWN}]
        lines += [(Span(f"{INDENT}{GAP.join(rest)}", Role.MUTED),)] if rest else []
    return lines


def _amounts(shown: Sequence[TaskStats], width: int) -> tuple[list[list[str]], list[list[str]]]:
    """The columns of amounts, aligned: the time, and as far as they are known, cost, tokens and nudges.

    The first columns fit beside the tasks; the others do not.
    """
    nudges = [f"{MarkKind.NUDGE.value}{entry.nudges}" if entry.nudges else "" for entry in shown]
    tokens = [UNKNOWN if entry.tokens is None else f"{token_count(entry.tokens)} tok" for entry in shown]
    costs = [UNKNOWN if entry.cost is None else dollars(entry.cost) for entry in shown]
    times = [UNKNOWN if entry.worked is None else elapsed(entry.worked) for entry in shown]
    # In the order in which they do not fit.
    found = [cells for cells in (nudges, tokens, costs) if set(cells) - {UNKNOWN, ""}]
    aligned = [[cell.rjust(max(map(len, cells))) for cell in cells] for cells in (*found, times)]
    first = 0
    while first < len(found) and _free(aligned[first:], width) < MIN_FREE_COLUMNS:
        first += 1
    return aligned[first:][::-1], aligned[:first][::-1]


def _free(aligned: list[list[str]], width: int) -> int:
    return width - sum(len(GAP) + len(cells[0]) for cells in aligned) - len(GAP)


def _bar_role(entry: TaskStats) -> Role:
    return Role.ACCENT if entry.task.status is Status.IN_PROGRESS else Role.SUCCESS


def _padded(text: Line, columns: int) -> Line:
    clipped = clip_line(text, columns)
    return *clipped, Span(" " * (columns - display_width(plain(clipped))))


def _sentence(text: str, width: int) -> list[Line]:
    return [(Span(line, Role.MUTED),) for line in wrap_text(text, width)]
