"""Plain-text lists for models: exactly one line per task, whatever its text contains."""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING
from tildone.views.limits import MAX_FRAME, MAX_NUDGE, MAX_RESULT, bounded_list, clipped
from tildone.views.sanitize import single_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.core.plan import Plan, Task
    from tildone.views.limits import Entry

NO_TODOS = "No todos"
UNNAMED_PHASE = "(unnamed)"


def numbered_list(plan: Plan, max_characters: int = MAX_RESULT - MAX_FRAME) -> str:
    """Return every task with its position, or `NO_TODOS`."""
    return numbered_lines(enumerate(plan.tasks), max_characters) or NO_TODOS


def numbered_at(plan: Plan, positions: Iterable[int], max_characters: int = MAX_NUDGE - MAX_FRAME) -> str:
    """Return the tasks at these positions, in the given order; positions without a task are skipped."""
    tasks = plan.tasks
    found = ((position, tasks[position]) for position in positions if 0 <= position < len(tasks))
    return numbered_lines(found, max_characters)


def numbered_lines(tasks: Iterable[tuple[int, Task]], max_characters: int) -> str:
    """Return these tasks with their positions, one per line, and what is missing if not all fits."""
    return "\n".join(bounded_list([_entry(position, task) for position, task in tasks], max_characters))


def _entry(position: int, task: Task) -> Entry:
    text = single_line(task.text)
    return task, lambda size: f"{task.status.icon} [{position}] {clipped(text, size)}"
