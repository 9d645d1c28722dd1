"""The parameters of `todo`."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING
from tildone.plan.dialects import Phrasing
from tildone.plan.model import WORD_FIELDS, Status, numbered

if TYPE_CHECKING:
    from typing import Any

    from tildone.plan.dialects import ToolCall
    from tildone.plan.model import Plan


MARKS = {status.verb: status for status in Status if status.verb}
FINISHING = ("done", "drop", "block")
"""Ops after which an agent may be finished with the task in progress."""

_ID = {"type": "integer"}
_TEXT = {"type": "string"}
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "add": {"type": "array", "items": _TEXT},
        **dict.fromkeys(MARKS, _ID),
        "move": _TEXT,
        "note": _TEXT,
        "block": _TEXT,
        "check": _TEXT,
        "after": _TEXT,
        **dict.fromkeys(WORD_FIELDS, _TEXT),
    },
}


_OP = {status: op for op, status in MARKS.items()}


def mark(plan: Plan, position: int, status: Status) -> ToolCall:
    return "todo", {_OP[status]: numbered(plan).tasks[position].number}


PHRASING = Phrasing(mark)
