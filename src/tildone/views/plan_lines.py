"""A plan as styled lines for a terminal."""

from __future__ import annotations

from tildone.core.numbers import numbered
from tildone.core.plan import Plan, Status
from tildone.core.query import progress
from tildone.kit.text import display_width, wrap_text
from tildone.kit.theme import Role, Span, plain
from tildone.typing import TYPE_CHECKING
from tildone.views.plain_list import NO_TODOS, UNNAMED_PHASE
from tildone.views.sanitize import printable, printable_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

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


def plan_lines(
    plan: Plan, columns: int | None = None, *, only: Container[int] | None = None, positions: bool = False
) -> list[Line]:
    """Return the plan: phases, tasks with their numbers, and notes, wrapped to `columns` or to `MIN_COLUMNS`.

    `only` are the numbers of the tasks to show; phases without any are omitted. With `positions`, tasks also have
    their positions, which the agent of the session uses.
    """
    plan = numbered(plan)
    width = None if columns is None else max(columns, MIN_COLUMNS)
    with_headings = len(plan.phases) > 1 or any(phase.name for phase in plan.phases)
    places = {task.number: place for place, task in enumerate(plan.tasks)} if positions else {}
    lines: list[Line] = []
    for phase in plan.phases:
        tasks = [task for task in phase.tasks if only is None or task.number in only]
        if only is not None and not tasks:
            continue
        lines += [()] if lines else []
        lines += _heading(phase, width) if with_headings else []
        for task in tasks:
            lead = (Span("  " if with_headings else ""), *numbered_lead(task, places.get(task.number)))
            lines += _task_lines(task, lead, width)
    return lines or [(Span(NO_TODOS, Role.DIM),)]


def task_lines(task: Task, columns: int | None = None, position: int | None = None) -> list[Line]:
    """Return one task with its number, its position if given, and its notes."""
    width = None if columns is None else max(columns, MIN_COLUMNS)
    return [*_task_lines(task, (Span(""), *numbered_lead(task, position)), width)]


def task_line(task: Task) -> Line:
    """Return a task on one line, with its number if it has one."""
    return *numbered_lead(task), task_label(task)(printable(task.text))


def numbered_lead(task: Task, position: int | None = None) -> Line:
    """Return the status icon and the number of a task, and its position if given."""
    names = [f"#{task.number}"] if task.number else []
    names += [f"[{position}]"] if position is not None else []
    return *_icon(task), *(part for name in names for part in (Span(name, Role.ACCENT), Span(" ")))


def task_lead(position: int, task: Task) -> Line:
    """Return the status icon and the position of a task."""
    return *_icon(task), Span(f"[{position}]", Role.ACCENT), Span(" ")


def task_label(task: Task) -> Callable[[str], Span]:
    """Return a function that styles the text of a task by its status."""
    if task.status.is_open:
        return lambda text: Span(text, Role.TEXT)
    return lambda text: Span(text, Role.DIM, strike=True)


def _icon(task: Task) -> Line:
    return Span(task.status.icon, _ICON_ROLES.get(task.status, Role.ACCENT)), Span(" ")


def _heading(phase: Phase, width: int | None) -> Iterator[Line]:
    done = progress(Plan((phase,)))
    count = f" {done.closed}/{done.total}"
    name = printable(phase.name) or UNNAMED_PHASE
    *above, last = _fitted(name, (Span(count),), width)
    for line in above:
        yield (Span(line, Role.ACCENT, bold=True),)
    yield Span(last, Role.ACCENT, bold=True), Span(count, Role.MUTED)


def _task_lines(task: Task, lead: Line, width: int | None) -> Iterator[Line]:
    """The task beside its lead, which begins with the indent, and its notes."""
    hanging = Span(" " * display_width(plain(lead)))
    label = task_label(task)
    first, *more = _fitted(printable(task.text), lead, width)
    yield *lead, label(first)
    for line in more:
        yield hanging, label(line)
    bar = (lead[0], Span("  "), Span("│ ", Role.DIM))
    for index, note in enumerate(task.notes):
        if index:
            yield bar
        for line in printable_lines(note):
            yield from ((*bar, Span(part, Role.MUTED)) for part in _fitted(line, bar, width))


def _fitted(text: str, lead: Line, width: int | None) -> list[str]:
    return [text] if width is None else wrap_text(text, width - display_width(plain(lead)))
