"""A plan written and marked by calls of `TodoWrite`, which sends the whole list each time."""

from __future__ import annotations

from tildone.core.plan import Task
from tildone.dialects.base import Phrasing
from tildone.dialects.declared.params import NAME, WORDS
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.core.plan import Plan, Status
    from tildone.dialects.base import ToolCall


def write(_current: Plan, wanted: Plan, summary: str) -> ToolCall:
    """Send the wanted list, with nothing done yet."""
    return _call((Task(task.text) for task in wanted.tasks), summary)


def mark(plan: Plan, text: str, status: Status, summary: str) -> ToolCall:
    """Send the list with the task marked."""
    return _call((replace(task, status=status) if task.text == text else task for task in plan.tasks), summary)


def _call(tasks: Iterable[Task], summary: str) -> ToolCall:
    todos = [{"content": task.text, "status": WORDS[task.status]} for task in tasks]
    return NAME, {"summary": summary, "todos": todos}


PHRASING = Phrasing(write, mark)
