"""Builds the call of `todo_write` that marks a task."""

from __future__ import annotations

from tildone.core.plan import Status
from tildone.dialects.base import Phrasing
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.core.plan import Plan
    from tildone.dialects.base import ToolCall

_OP = {Status.IN_PROGRESS: "start", Status.COMPLETED: "done", Status.ABANDONED: "drop"}


def mark(plan: Plan, position: int, status: Status) -> ToolCall:
    """Return the call that marks the task, addressed by its text."""
    return "todo_write", {"ops": [{"op": _OP[status], "task": plan.tasks[position].text}]}


PHRASING = Phrasing(mark)
