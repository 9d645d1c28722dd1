"""Reads the list from the entries of a conversation."""

from __future__ import annotations

from tildone.core.plan import Plan, Task, flat
from tildone.core.rules import Unit, length
from tildone.dialects.indexed.params import MAX_TEXT_UNITS
from tildone.dialects.indexed.words import WORDS
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

STATUSES = {word: status for status, word in WORDS.items()}
TOOL_NAMES = ("write_todos", "list_todos", "edit_todos")


def recover(entries: Sequence[Mapping[str, Any]]) -> Plan | None:
    """Return the list in the newest result of these tools that contains one, or None."""
    for entry in reversed(entries):
        todos = _snapshot(entry)
        if todos is not None:
            return flat(*(Task(item["text"], STATUSES[item["status"]]) for item in todos if is_item(item)))
    return None


def is_item(item: object) -> bool:
    """Return whether `item` is valid: it has a text, a status, and no other field."""
    if not isinstance(item, dict) or item.keys() != {"text", "status"}:
        return False
    text, status = item["text"], item["status"]
    if not isinstance(text, str) or not isinstance(status, str):
        return False
    return status in STATUSES and 0 < length(text, Unit.UTF16) <= MAX_TEXT_UNITS


def _snapshot(entry: Mapping[str, Any]) -> Sequence[Any] | None:
    """Return the items in an entry, or None if it has no list. An empty list counts only if a write succeeded."""
    message = entry.get("message")
    if entry.get("type") != "message" or not isinstance(message, dict):
        return None
    details = message.get("details")
    if (
        message.get("role") != "toolResult"
        or message.get("toolName") not in TOOL_NAMES
        or not isinstance(details, dict)
    ):
        return None
    todos = details.get("todos")
    emptied = details.get("action") == "write" and "error" not in details
    return todos if isinstance(todos, list) and (todos or emptied) else None
