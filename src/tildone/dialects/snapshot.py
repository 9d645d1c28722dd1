"""Snapshots of the plan in tool results, for dialects whose details do not contain the plan.

The plan must be recoverable at every point of a conversation, because a person may resume the conversation or return to
an earlier point of it. Dialects whose details contain the whole plan read it from there. For the others, the host adds
the plan to the details under the key `KEY`, which no model reads, and `recover` reads it. For screens, it adds
the numbers of the tasks that are new or differ from those in the result before, if the rest of the plan is as it was.
"""

from __future__ import annotations

from tildone.core.numbers import numbered
from tildone.log.codec import plan_from_json, plan_to_json
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tildone.core.plan import Plan

KEY, CHANGED = "tildone_plan", "tildone_changed"


def with_plan(details: Mapping[str, Any], plan: Plan, before: Plan) -> dict[str, Any]:
    """Return the details of a result with the plan added, and what of it differs from the plan `before`."""
    changed = _changed(numbered(before), numbered(plan))
    return {**details, KEY: plan_to_json(plan), **({} if changed is None else {CHANGED: changed})}


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


def changed_in_details(details: object) -> list[int]:
    """Return the numbers of the tasks that are new or have changed; empty if more than these have, or none."""
    match details:
        case {"tildone_changed": list(numbers)}:
            return numbers
        case _:
            return []


def _changed(before: Plan, after: Plan) -> list[int] | None:
    """The numbers of the tasks that are new or other ones; None if tasks or phases were removed, moved or renamed."""
    old, new = ({task.number: task for task in plan.tasks} for plan in (before, after))
    kept = [(phase.name, [task.number for task in phase.tasks if task.number in old]) for phase in after.phases]
    were = [(phase.name, [task.number for task in phase.tasks]) for phase in before.phases]
    if kept[: len(were)] != were or any(numbers for _, numbers in kept[len(were) :]):
        return None
    return [number for number, task in new.items() if old.get(number) != task]


def _plan(entry: Mapping[str, Any]) -> Plan | None:
    match entry:
        case {"type": "message", "message": {"role": "toolResult", "details": details}}:
            return plan_in_details(details)
        case _:
            return None
