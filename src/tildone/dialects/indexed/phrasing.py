"""Builds the call of an indexed tool that marks a task."""

from __future__ import annotations

from tildone.dialects.base import Phrasing
from tildone.dialects.indexed.params import ACTIONS
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.core.plan import Plan, Status
    from tildone.dialects.base import ToolCall

_ACTION = {status: action for action, status in ACTIONS.items()}


def mark(_plan: Plan, position: int, status: Status) -> ToolCall:
    """Return the call that marks the task, addressed by its position."""
    return "edit_todos", {"action": _ACTION[status], "indices": [position]}


PHRASING = Phrasing(mark)
