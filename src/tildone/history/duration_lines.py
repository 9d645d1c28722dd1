"""The durations of tasks as a table for a terminal."""

from __future__ import annotations

from tildone.history.authors import who
from tildone.kit.text import display_width
from tildone.kit.theme import Role, Span
from tildone.typing import TYPE_CHECKING
from tildone.views.amounts import elapsed
from tildone.views.line_layout import GAP, INDENT, MIN_TEXT_COLUMNS, clip_line
from tildone.views.plan_lines import task_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.history.task_history import TaskHistory
    from tildone.views.line_layout import Line

HEADINGS = ("worked on", "in all", "closed by")
UNKNOWN = "–"
REMOVED_HEADING = "No longer in the plan:"


def duration_lines(found: Sequence[TaskHistory], now: int, columns: int | None = None) -> list[Line]:
    """Return a line for every task: the time in progress, the time from added to closed, and who closed it.

    On a narrow terminal these are below the task. Removed tasks come last.
    """
    widths = [
        max(map(display_width, cells)) for cells in zip(HEADINGS, *(_cells(entry, now) for entry in found), strict=True)
    ]
    in_columns = columns is None or columns - sum(widths) - len(GAP) * len(widths) >= MIN_TEXT_COLUMNS
    lines: list[Line] = [(Span(_row(HEADINGS, widths), Role.MUTED), Span("task", Role.MUTED))] if in_columns else []
    in_plan = True
    for entry in found:
        if in_plan and entry.position is None:
            in_plan = False
            lines += [(), (Span(REMOVED_HEADING, Role.MUTED),)]
        task = task_line(entry.task)
        lines += [(Span(_row(_cells(entry, now), widths)), *task)] if in_columns else [task, _below(entry, now)]
    return lines if columns is None else [clip_line(line, columns) for line in lines]


def _cells(entry: TaskHistory, now: int) -> tuple[str, str, str]:
    worked, lifetime, closed = entry.time_in_progress(now), entry.lifetime, entry.closed
    return (
        UNKNOWN if worked is None else elapsed(worked),
        UNKNOWN if lifetime is None else elapsed(lifetime),
        UNKNOWN if closed is None else who(closed.event),
    )


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """A table row: durations right-aligned, the name left-aligned."""
    *times, name = cells
    aligned = [time.rjust(width) for time, width in zip(times, widths, strict=False)]
    return "".join(f"{cell}{GAP}" for cell in (*aligned, name + " " * (widths[-1] - display_width(name))))


def _below(entry: TaskHistory, now: int) -> Line:
    worked, lifetime, closed = _cells(entry, now)
    parts = [f"worked on {worked}"] if worked != UNKNOWN else []
    parts += [f"{lifetime} in all"] if lifetime != UNKNOWN else []
    parts += [f"by {closed}"] if closed != UNKNOWN else []
    return Span(INDENT), Span(", ".join(parts) or "not worked on yet", Role.MUTED)
