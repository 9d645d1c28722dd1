"""A plan as styled lines for a terminal."""

from __future__ import annotations

from tildone.core.plan import Plan, Status
from tildone.core.query import progress
from tildone.kit.text import display_width, wrap_text
from tildone.kit.theme import Role, Span, plain
from tildone.typing import TYPE_CHECKING
from tildone.views.plain_list import NO_TODOS, UNNAMED_PHASE
from tildone.views.sanitize import printable, printable_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tildone.core.plan import Phase, Task

    Line = tuple[Span, ...]

MIN_COLUMNS = 20
"""Narrower terminals get lines of this width."""

_ICON_ROLES = {
    Status.PENDING: Role.DIM,
    Status.IN_PROGRESS: Role.WARNING,
    Status.COMPLETED: Role.SUCCESS,
    Status.ABANDONED: Role.ERROR,
}


def plan_lines(plan: Plan, columns: int | None = None) -> list[Line]:
    """Return the plan: phases, tasks with their positions, and notes, wrapped to `columns` or to `MIN_COLUMNS`."""
    width = None if columns is None else max(columns, MIN_COLUMNS)
    with_headings = len(plan.phases) > 1 or any(phase.name for phase in plan.phases)
    lines: list[Line] = []
    position = 0
    for phase in plan.phases:
        lines += [()] if lines else []
        lines += _heading(phase, width) if with_headings else []
        for task in phase.tasks:
            lines += _task_lines(position, task, Span("  " if with_headings else ""), width)
            position += 1
    return lines or [(Span(NO_TODOS, Role.DIM),)]


def task_line(task: Task, position: int | None = None) -> Line:
    """Return a task on one line, with its position if given."""
    icon, space, *place = task_lead(position or 0, task)
    return icon, space, *(() if position is None else place), task_label(task)(printable(task.text))


def task_lead(position: int, task: Task) -> Line:
    """Return the status icon and the position of a task."""
    icon = Span(task.status.icon, _ICON_ROLES.get(task.status, Role.ACCENT))
    return icon, Span(" "), Span(f"[{position}]", Role.ACCENT), Span(" ")


def task_label(task: Task) -> Callable[[str], Span]:
    """Return a function that styles the text of a task by its status."""
    if task.status.is_open:
        return lambda text: Span(text, Role.TEXT)
    return lambda text: Span(text, Role.DIM, strike=True)


def _heading(phase: Phase, width: int | None) -> Iterator[Line]:
    done = progress(Plan((phase,)))
    count = f" {done.closed}/{done.total}"
    name = printable(phase.name) or UNNAMED_PHASE
    *above, last = _fitted(name, (Span(count),), width)
    for line in above:
        yield (Span(line, Role.ACCENT, bold=True),)
    yield Span(last, Role.ACCENT, bold=True), Span(count, Role.MUTED)


def _task_lines(position: int, task: Task, indent: Span, width: int | None) -> Iterator[Line]:
    lead = (indent, *task_lead(position, task))
    hanging = Span(" " * display_width(plain(lead)))
    label = task_label(task)
    first, *more = _fitted(printable(task.text), lead, width)
    yield *lead, label(first)
    for line in more:
        yield hanging, label(line)
    bar = (indent, Span("  "), Span("│ ", Role.DIM))
    for index, note in enumerate(task.notes):
        if index:
            yield bar
        for line in printable_lines(note):
            yield from ((*bar, Span(part, Role.MUTED)) for part in _fitted(line, bar, width))


def _fitted(text: str, lead: Line, width: int | None) -> list[str]:
    return [text] if width is None else wrap_text(text, width - display_width(plain(lead)))
