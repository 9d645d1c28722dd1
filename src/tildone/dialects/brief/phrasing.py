"""Builds the call of `todo` that marks a task."""

from __future__ import annotations

from tildone.core.numbers import numbered
from tildone.dialects.base import Phrasing
from tildone.dialects.brief.params import MARKS
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.core.plan import Plan, Status
    from tildone.dialects.base import ToolCall

_OP = {status: op for op, status in MARKS.items()}


def mark(plan: Plan, position: int, status: Status) -> ToolCall:
    """Return the call that marks the task, addressed by its number."""
    return "todo", {_OP[status]: numbered(plan).tasks[position].number}


PHRASING = Phrasing(mark)
