"""Builds calls of `todo` that write a plan and mark its tasks."""

from __future__ import annotations

from tildone.core.numbers import numbered
from tildone.dialects.base import Phrasing
from tildone.dialects.brief.params import MARKS
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.core.plan import Plan, Status
    from tildone.dialects.base import ToolCall

_OP = {status: op for op, status in MARKS.items()}


def write(current: Plan, wanted: Plan, _summary: str) -> ToolCall:
    """Return the call that adds the missing tasks: this dialect never replaces a plan."""
    existing = {task.text for task in current.tasks}
    return "todo", {"add": [task.text for task in wanted.tasks if task.text not in existing]}


def mark(plan: Plan, text: str, status: Status, _summary: str) -> ToolCall:
    """Return the call that marks the task, addressed by its number."""
    number = next(task.number for task in numbered(plan).tasks if task.text == text)
    return "todo", {_OP[status]: number}


PHRASING = Phrasing(write, mark)
