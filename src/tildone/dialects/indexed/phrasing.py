"""Builds calls of the indexed tools that write a plan and mark its tasks."""

from __future__ import annotations

from tildone.dialects.base import Phrasing
from tildone.dialects.indexed.params import ACTIONS
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.core.plan import Plan, Status
    from tildone.dialects.base import ToolCall

_ACTION = {status: action for action, status in ACTIONS.items()}


def write(_current: Plan, wanted: Plan, _summary: str) -> ToolCall:
    """Return the call that replaces the list with the wanted one."""
    return "write_todos", {"mode": "replace", "todos": [{"text": task.text} for task in wanted.tasks]}


def mark(plan: Plan, text: str, status: Status, _summary: str) -> ToolCall:
    """Return the call that marks the task, addressed by its position."""
    position = [task.text for task in plan.tasks].index(text)
    return "edit_todos", {"action": _ACTION[status], "indices": [position]}


PHRASING = Phrasing(write, mark)
