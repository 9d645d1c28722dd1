"""Plans kept in the results of tools whose details do not tell the plan.

A conversation must say what the plan was at each of its points, so that whoever resumes it, or goes back to an earlier
point, finds the plan of that point. Dialects whose details hold the whole plan read it from there. For the others a
host adds the plan to the details under a key of its own, which no model reads, and `recover` finds it.
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
    """The details of a result, and the plan after it."""
    return {**details, KEY: plan_to_json(plan)}


def recover(entries: Sequence[Mapping[str, Any]]) -> Plan | None:
    """The plan of the newest result that holds a readable one."""
    return next((plan for entry in reversed(entries) if (plan := _plan(entry)) is not None), None)


def _plan(entry: Mapping[str, Any]) -> Plan | None:
    match entry:
        case {"type": "message", "message": {"role": "toolResult", "details": {"tildone_plan": held}}}:
            try:
                return plan_from_json(held)
            except ValueError:
                return None
        case _:
            return None
