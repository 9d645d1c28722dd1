"""Builds calls of `TodoWrite`, which send the whole list each time, to write a plan and mark its tasks."""

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
    """Return the call that sends the wanted list, with every task pending."""
    return _call((Task(task.text) for task in wanted.tasks), summary)


def mark(plan: Plan, text: str, status: Status, summary: str) -> ToolCall:
    """Return the call that sends the list with the task marked."""
    return _call((replace(task, status=status) if task.text == text else task for task in plan.tasks), summary)


def _call(tasks: Iterable[Task], summary: str) -> ToolCall:
    todos = [{"content": task.text, "status": WORDS[task.status]} for task in tasks]
    return NAME, {"summary": summary, "todos": todos}


PHRASING = Phrasing(write, mark)
