"""The parameters of `todo`."""

from __future__ import annotations

from tildone.core.plan import WORD_FIELDS, Status
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

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
