"""Snapshots of the plan in tool results, for dialects whose details do not contain the plan.

The plan must be recoverable at every point of a conversation, because a person may resume the conversation or return to
an earlier point of it. Dialects whose details contain the whole plan read it from there. For the others, the host adds
the plan to the details under the key `KEY`, which no model reads, and `recover` reads it.
"""

from __future__ import annotations

from tildone.log.codec import plan_from_json, plan_to_json
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tildone.core.plan import Plan

KEY = "tildone_plan"


def with_plan(details: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """Return the details of a result with the plan added."""
    return {**details, KEY: plan_to_json(plan)}


def recover(entries: Sequence[Mapping[str, Any]]) -> Plan | None:
    """Return the plan in the newest result that contains a valid one, or None."""
    return next((plan for entry in reversed(entries) if (plan := _plan(entry)) is not None), None)


def plan_in_details(details: object) -> Plan | None:
    """Return the plan that was added to the details of a result, or None."""
    match details:
        case {"tildone_plan": data}:
            try:
                return plan_from_json(data)
            except ValueError:
                return None
        case _:
            return None


def _plan(entry: Mapping[str, Any]) -> Plan | None:
    match entry:
        case {"type": "message", "message": {"role": "toolResult", "details": details}}:
            return plan_in_details(details)
        case _:
            return None
