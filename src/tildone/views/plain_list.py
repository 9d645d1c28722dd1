"""Plain-text lists for models: exactly one line per task, whatever its text contains."""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import single_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.core.plan import Plan, Task

NO_TODOS = "No todos"
UNNAMED_PHASE = "(unnamed)"


def numbered_list(plan: Plan) -> str:
    """Return every task with its position, or `NO_TODOS`."""
    return numbered_lines(enumerate(plan.tasks)) or NO_TODOS


def numbered_at(plan: Plan, positions: Iterable[int]) -> str:
    """Return the tasks at these positions, in the given order; positions without a task are skipped."""
    tasks = plan.tasks
    return numbered_lines((position, tasks[position]) for position in positions if 0 <= position < len(tasks))


def numbered_lines(tasks: Iterable[tuple[int, Task]]) -> str:
    """Return these tasks with their positions, one per line."""
    return "\n".join([f"{task.status.icon} [{position}] {single_line(task.text)}" for position, task in tasks])
