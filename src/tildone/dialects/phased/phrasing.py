"""Builds calls of `todo_write` that write a plan and mark its tasks."""

from __future__ import annotations

from tildone.core.plan import Status
from tildone.dialects.base import Phrasing
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.core.plan import Plan
    from tildone.dialects.base import ToolCall

_OP = {Status.IN_PROGRESS: "start", Status.COMPLETED: "done", Status.ABANDONED: "drop"}


def write(_current: Plan, wanted: Plan, _summary: str) -> ToolCall:
    """Return the call that replaces the phases with the wanted ones."""
    phases = [{"phase": phase.name, "items": [task.text for task in phase.tasks]} for phase in wanted.phases]
    return "todo_write", {"ops": [{"op": "init", "list": phases}]}


def mark(_plan: Plan, text: str, status: Status, _summary: str) -> ToolCall:
    """Return the call that marks the task, addressed by its text."""
    return "todo_write", {"ops": [{"op": _OP[status], "task": text}]}


PHRASING = Phrasing(write, mark)
