"""The statistics of a plan for a terminal: durations as a table, sentences, and pictures with a bar for each task."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from tildone.plan.history.authors import who
from tildone.plan.history.blame import TaskHistory
from tildone.plan.history.stats import MarkKind, Stats, TaskStats
from tildone.plan.model import Status
from tildone.plan.text.amounts import about, dollars, elapsed, token_count
from tildone.plan.text.charts import TimeAxis, bar, column_chart, time_axis
from tildone.plan.text.lists import task_line
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import (
    GAP,
    INDENT,
    MIN_TEXT_COLUMNS,
    Line,
    Role,
    Span,
    clip_line,
    display_width,
    plain,
    wrap_text,
)

HEADINGS = ("worked on", "in all", "closed by")
UNKNOWN = "–"


def duration_lines(found: Sequence[TaskHistory], now: int, columns: int | None = None) -> list[Line]:
    """Return for each task its time in progress and in all and who closed it, below it on a narrow terminal."""
    widths = [
        max(map(display_width, cells)) for cells in zip(HEADINGS, *(_cells(entry, now) for entry in found), strict=True)
    ]
    in_columns = columns is None or columns - sum(widths) - len(GAP) * len(widths) >= MIN_TEXT_COLUMNS
    lines: list[Line] = [(Span(_aligned(HEADINGS, widths), Role.MUTED), Span("task", Role.MUTED))] if in_columns else []
    is_removed = [entry.position is None for entry in found]
    for index, entry in enumerate(found):
        if is_removed[index] and not any(is_removed[:index]):
            lines += [(), (Span("No longer in the plan:", Role.MUTED),)]
        task = task_line(entry.task)
        lines += [(Span(_aligned(_cells(entry, now), widths)), *task)] if in_columns else [task, _below(entry, now)]
    return lines if columns is None else [clip_line(line, columns) for line in lines]


def _cells(entry: TaskHistory, now: int) -> tuple[str, str, str]:
    worked, lifetime, closed = entry.time_in_progress(now), entry.lifetime, entry.closed
    return (
        UNKNOWN if worked is None else elapsed(worked),
        UNKNOWN if lifetime is None else elapsed(lifetime),
        UNKNOWN if closed is None else who(closed.event),
    )


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    """A row of a table: durations right-aligned, the name left-aligned."""
    *times, name = cells
    aligned = [time.rjust(width) for time, width in zip(times, widths, strict=False)]
    return "".join(f"{cell}{GAP}" for cell in (*aligned, name + " " * (widths[-1] - display_width(name))))


def _below(entry: TaskHistory, now: int) -> Line:
    worked, lifetime, closed = _cells(entry, now)
    parts = [f"worked on {worked}"] if worked != UNKNOWN else []
    parts += [f"{lifetime} in all"] if lifetime != UNKNOWN else []
    parts += [f"by {closed}"] if closed != UNKNOWN else []
    return Span(INDENT), Span(", ".join(parts) or "not worked on yet", Role.MUTED)


LEGEND = {
    MarkKind.CHANGE: "changes by agents",
    MarkKind.NUDGE: "told to go on",
    MarkKind.PERSON: "changes by people",
    MarkKind.LABEL: "labels",
    MarkKind.LET_GO: "let go",
}
"""What the signs mean, in the order of the legend."""

SMALLEST_COST = 0.0001
"""In dollars; less is not shown."""


def heading(title: str, stats: Stats) -> str:
    counts = stats.progress
    return f"{title}: {counts.closed} of {counts.total} task{'s' if counts.total != 1 else ''} closed"


def estimate_sentence(stats: Stats) -> str:
    remaining = stats.estimate.remaining
    if remaining is None:
        reason = stats.estimate.reason
        return f"{reason[0].upper()}{reason[1:]}."
    return f"About {elapsed(remaining)} left, at the pace of the last 5 tasks that were closed."


def usage_sentence(stats: Stats) -> str:
    """Return the tokens and the cost in all, and how much of that belongs to no task; or that this is not known."""
    if stats.tokens is None and stats.cost is None:
        return "Tokens and cost are not known: no agent of this plan has told them."
    amounts = [] if stats.tokens is None else [f"{token_count(stats.tokens)} tokens"]
    amounts += [] if stats.cost is None else [dollars(stats.cost)]
    if stats.tokens is not None:
        tokens = stats.tokens - sum(entry.tokens or 0 for entry in stats.tasks)
        elsewhere = f"{token_count(tokens)} of them" if tokens else ""
    else:
        cost = (stats.cost or 0) - sum(entry.cost or 0 for entry in stats.tasks)
        elsewhere = f"{dollars(cost)} of it" if cost >= SMALLEST_COST else ""
    free = f", {elsewhere} while no single task was in progress" if elsewhere else ""
    return f"{' and '.join(amounts)} in the conversations of its agents{free}."


def shown_tasks(stats: Stats, limit: int) -> tuple[list[TaskStats], int]:
    """Return the tasks that were started or blocked, at most `limit`, the longest; and how many others there are."""
    worked = [index for index, entry in enumerate(stats.tasks) if entry.periods]
    longest = sorted(worked, key=lambda index: -stats.tasks[index].total(Status.IN_PROGRESS))[:limit]
    return [stats.tasks[index] for index in sorted(longest)], len(stats.tasks) - len(longest)


def left_out_sentence(stats: Stats, left_out: int) -> str:
    never = sum(not entry.periods for entry in stats.tasks)
    if left_out == never:
        return f"{left_out} task{'s were' if left_out > 1 else ' was'} never started."
    return f"{left_out} more tasks are not shown; {never} of them were never started."


MIN_COLUMNS, DEFAULT_COLUMNS = 40, 80
"""Narrower terminals get lines of the first width; the second is for output that is not a terminal."""

CHART_COLUMNS, CHART_ROWS = 60, 8
BREAK_COLUMNS = 2
MAX_BAR_COLUMNS, MAX_TASK_COLUMNS = 30, 60
MAX_TASKS = 40
MIN_FREE_COLUMNS = 20
"""How much room is left for a task and its bar; otherwise, fewer amounts are shown."""

BREAK = "╱"
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
    places = [_column(axis, at, columns) for at, _ in stats.open_steps]
    # The number of open tasks at the end of each column; the last one is that of the end.
    indices = (bisect_right(places, column) - 1 for column in range(columns))
    counts = [stats.open_steps[index][1] if index >= 0 else 0 for index in indices]
    chart = column_chart(counts, CHART_ROWS)
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
        role = Role.ACCENT if entry.task.status is Status.IN_PROGRESS else Role.SUCCESS
        row = Span(bar(entry.worked or 0, longest, columns), role)
        clipped = clip_line(text, text_width)
        padding = Span(" " * (text_width - display_width(plain(clipped))))
        lines.append((*clipped, padding, Span(amount), row))
        rest = [cells[place].strip() for cells in below if cells[place].strip() not in {"", UNKNOWN}]
        lines += [(Span(f"{INDENT}{GAP.join(rest)}", Role.MUTED),)] if rest else []
    return lines


def _amounts(shown: Sequence[TaskStats], width: int) -> tuple[list[list[str]], list[list[str]]]:
    """The columns of time and known cost, tokens and nudges: those that fit beside the tasks, and the others."""
    nudges = [f"{MarkKind.NUDGE.value}{entry.nudges}" if entry.nudges else "" for entry in shown]
    tokens = [UNKNOWN if entry.tokens is None else f"{token_count(entry.tokens)} tok" for entry in shown]
    costs = [UNKNOWN if entry.cost is None else dollars(entry.cost) for entry in shown]
    times = [UNKNOWN if entry.worked is None else elapsed(entry.worked) for entry in shown]
    # In the order in which they do not fit.
    found = [cells for cells in (nudges, tokens, costs) if set(cells) - {UNKNOWN, ""}]
    aligned = [[cell.rjust(max(map(len, cells))) for cell in cells] for cells in (*found, times)]
    first = 0
    while (
        first < len(found)
        and width - sum(len(GAP) + len(cells[0]) for cells in aligned[first:]) - len(GAP) < MIN_FREE_COLUMNS
    ):
        first += 1
    return aligned[first:][::-1], aligned[:first][::-1]


def _sentence(text: str, width: int) -> list[Line]:
    return [(Span(line, Role.MUTED),) for line in wrap_text(text, width)]
