"""Reads the list from the entries of a conversation: from the envelopes that `TodoWrite` returned."""

from __future__ import annotations

from tildone.core.numbers import without_numbers
from tildone.core.plan import Plan
from tildone.core.reduce import reduce
from tildone.dialects.declared.params import NAME, RULES, write_steps
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


def recover(entries: Sequence[Mapping[str, Any]]) -> Plan | None:
    """Return the list in the newest successful result, or None. A list that the tool would refuse is skipped."""
    for entry in reversed(entries):
        data = _data(entry)
        outcome = reduce(Plan(), write_steps(data), RULES)
        if not outcome.faults:
            return without_numbers(outcome.after)
    return None


def _data(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the data of a successful result, which has the form of a call, or {} for any other entry."""
    message = entry.get("message")
    if entry.get("type") != "message" or not isinstance(message, dict):
        return {}
    details = message.get("details")
    if message.get("role") != "toolResult" or message.get("toolName") != NAME or not isinstance(details, dict):
        return {}
    data = details.get("data")
    return data if details.get("status") == "success" and isinstance(data, dict) else {}
