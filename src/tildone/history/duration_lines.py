"""How long each task took, as a table."""

from __future__ import annotations

from tildone.history.durations import format_elapsed
from tildone.kit.theme import Role, Span
from tildone.typing import TYPE_CHECKING
from tildone.views.line_layout import GAP, INDENT, MIN_TEXT_COLUMNS, clip_line
from tildone.views.themed import task_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.history.task_history import TaskHistory
    from tildone.views.line_layout import Line

HEADINGS = ("worked on", "in all", "closed by")
NOTHING = "–"
GONE = "No longer in the plan:"


def duration_lines(found: Sequence[TaskHistory], now: int, columns: int | None = None) -> list[Line]:
    """A line for every task: how long it was in progress, how long from added to closed, and who closed it.

    Where there is no room for columns, that stands below the task. What left the plan comes last.
    """
    widths = [max(map(len, cells)) for cells in zip(HEADINGS, *(_cells(life, now) for life in found), strict=True)]
    in_columns = columns is None or columns - sum(widths) - len(GAP) * len(widths) >= MIN_TEXT_COLUMNS
    lines: list[Line] = [(Span(_row(HEADINGS, widths), Role.MUTED), Span("task", Role.MUTED))] if in_columns else []
    here = True
    for life in found:
        if here and life.position is None:
            here = False
            lines += [(), (Span(GONE, Role.MUTED),)]
        task = task_line(life.task, life.position)
        lines += [(Span(_row(_cells(life, now), widths)), *task)] if in_columns else [task, _below(life, now)]
    return lines if columns is None else [clip_line(line, columns) for line in lines]


def _cells(life: TaskHistory, now: int) -> tuple[str, str, str]:
    worked, lasted, closed = life.worked_on(now), life.lasted, life.closed
    return (
        NOTHING if worked is None else format_elapsed(worked),
        NOTHING if lasted is None else format_elapsed(lasted),
        NOTHING if closed is None else closed.event.actor.value,
    )


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Times are aligned at their end, names at their beginning."""
    *times, name = cells
    placed = [time.rjust(room) for time, room in zip(times, widths, strict=False)]
    return "".join(f"{cell}{GAP}" for cell in (*placed, name.ljust(widths[-1])))


def _below(life: TaskHistory, now: int) -> Line:
    worked, lasted, closed = _cells(life, now)
    parts = [f"worked on {worked}"] if worked != NOTHING else []
    parts += [f"{lasted} in all"] if lasted != NOTHING else []
    parts += [f"by {closed}"] if closed != NOTHING else []
    return Span(INDENT), Span(", ".join(parts) or "not worked on yet", Role.MUTED)
