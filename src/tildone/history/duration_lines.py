"""The durations of tasks as a table for a terminal."""

from __future__ import annotations

from tildone.history.durations import format_elapsed
from tildone.kit.theme import Role, Span
from tildone.typing import TYPE_CHECKING
from tildone.views.line_layout import GAP, INDENT, MIN_TEXT_COLUMNS, clip_line
from tildone.views.plan_lines import task_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.history.task_history import TaskHistory
    from tildone.views.line_layout import Line

HEADINGS = ("worked on", "in all", "closed by")
UNKNOWN = "–"
GONE = "No longer in the plan:"


def duration_lines(found: Sequence[TaskHistory], now: int, columns: int | None = None) -> list[Line]:
    """A line for every task: the time in progress, the time from added to closed, and who closed it.

    On a narrow terminal these are below the task. Removed tasks come last.
    """
    widths = [max(map(len, cells)) for cells in zip(HEADINGS, *(_cells(entry, now) for entry in found), strict=True)]
    in_columns = columns is None or columns - sum(widths) - len(GAP) * len(widths) >= MIN_TEXT_COLUMNS
    lines: list[Line] = [(Span(_row(HEADINGS, widths), Role.MUTED), Span("task", Role.MUTED))] if in_columns else []
    here = True
    for entry in found:
        if here and entry.position is None:
            here = False
            lines += [(), (Span(GONE, Role.MUTED),)]
        task = task_line(entry.task, entry.position)
        lines += [(Span(_row(_cells(entry, now), widths)), *task)] if in_columns else [task, _below(entry, now)]
    return lines if columns is None else [clip_line(line, columns) for line in lines]


def _cells(entry: TaskHistory, now: int) -> tuple[str, str, str]:
    worked, lasted, closed = entry.worked_on(now), entry.lasted, entry.closed
    return (
        UNKNOWN if worked is None else format_elapsed(worked),
        UNKNOWN if lasted is None else format_elapsed(lasted),
        UNKNOWN if closed is None else closed.event.actor.value,
    )


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Durations are right-aligned, names left-aligned."""
    *times, name = cells
    placed = [time.rjust(room) for time, room in zip(times, widths, strict=False)]
    return "".join(f"{cell}{GAP}" for cell in (*placed, name.ljust(widths[-1])))


def _below(entry: TaskHistory, now: int) -> Line:
    worked, lasted, closed = _cells(entry, now)
    parts = [f"worked on {worked}"] if worked != UNKNOWN else []
    parts += [f"{lasted} in all"] if lasted != UNKNOWN else []
    parts += [f"by {closed}"] if closed != UNKNOWN else []
    return Span(INDENT), Span(", ".join(parts) or "not worked on yet", Role.MUTED)
