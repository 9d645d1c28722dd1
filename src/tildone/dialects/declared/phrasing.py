"""Builds the call of `TodoWrite`, which sends the whole list, that marks a task."""

from __future__ import annotations

from tildone.dialects.base import Phrasing
from tildone.dialects.declared.params import NAME, WORDS
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.core.plan import Plan, Status
    from tildone.dialects.base import ToolCall

SUMMARY = "Work through the plan"


def mark(plan: Plan, position: int, status: Status) -> ToolCall:
    """Return the call that sends the list with the task marked."""
    todos = [
        {"content": task.text, "status": WORDS[status if index == position else task.status]}
        for index, task in enumerate(plan.tasks)
    ]
    return NAME, {"summary": SUMMARY, "todos": todos}


PHRASING = Phrasing(mark)
