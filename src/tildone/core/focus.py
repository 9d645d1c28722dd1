"""Which tasks are in progress, as far as the rules of a plan say it."""

from __future__ import annotations

from tildone.core.plan import Plan, Status
from tildone.core.query import is_ready
from tildone.core.rules import Focus, Rules
from tildone.core.selection import change_spots, spots_where
from tildone.value import replace


def enforce_focus(plan: Plan, rules: Rules) -> Plan:
    """Return the plan with as many tasks in progress as the rules allow.

    If there are too many, only the first stays in progress. If one is required and there is none, the first pending
    task that waits for no other is promoted.
    """
    if rules.focus is Focus.ANY:
        return plan
    active = spots_where(plan, lambda task: task.status is Status.IN_PROGRESS)
    if len(active) > 1:
        return change_spots(plan, active[1:], lambda task: replace(task, status=Status.PENDING))
    if active or rules.focus is Focus.AT_MOST_ONE:
        return plan
    pending = spots_where(plan, lambda task: task.status is Status.PENDING and is_ready(plan, task))
    return change_spots(plan, pending[:1], lambda task: replace(task, status=Status.IN_PROGRESS))
