"""The bounds that end automatic continuation, as sentences without a capital letter or a full stop."""

from __future__ import annotations

from tildone.plan.events import Bound
from tildone.plan.text.amounts import dollars, token_count

_WORDS = {
    Bound.NUDGES: "told to go on {times}, and nothing changed",
    Bound.DRIFT: "told to go on {times}, and no task was closed or added",
    Bound.SAME: "stopped {times} more with the same words and nothing done",
    Bound.TIME: "no task was closed or added in {limit} minutes",
    Bound.COST: "the agents of this plan have cost {dollars}",
    Bound.TOTAL: "told to go on {times} since you last spoke",
    Bound.HOURS: "{limit} hours have passed since you last spoke",
    Bound.IDLE_REQUESTS: "{limit} requests to the model, and no task was closed or added",
    Bound.REQUESTS: "{limit} requests to the model since you last spoke",
    Bound.TOKENS: "the agents of this plan have used {tokens} tokens",
    Bound.TASK_COST: "the task in progress has cost {dollars}",
    Bound.TASK_TOKENS: "the task in progress has used {tokens} tokens",
    Bound.TASK_TIME: "the task in progress has taken {limit} minutes",
}


def describe_bound(bound: Bound, limit: float) -> str:
    amounts = {"dollars": dollars(limit), "tokens": token_count(int(limit))}
    return _WORDS[bound].format(limit=limit, times="once" if limit == 1 else f"{limit} times", **amounts)
