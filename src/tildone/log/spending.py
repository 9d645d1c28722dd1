"""What the agents of a session have used, for the budgets of its plan and of the task in progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tildone.base import replace
from tildone.plan.events import AgentUsage, Event, State
from tildone.plan.gate import Patience, Spent, Turn
from tildone.plan.history.usage import spent_on, used_by_others
from tildone.plan.model import Status, next_task


def with_spending(
    state: State, patience: Patience, turn: Turn, agent: str, used: AgentUsage, history: Callable[[], Iterable[Event]]
) -> Turn:
    """Return the facts about a turn with what was used by then, as far as it is known.

    The plan's budget is that of all its agents together: this one, whose usage is `used`, and the others. `history`
    returns the events of the state, the newest first.
    """
    turn = replace(turn, cost=max(turn.cost, used.cost or 0), tokens=used.tokens or 0)
    if patience.has_plan_budget:
        others = used_by_others(history(), agent)
        turn = replace(turn, cost=turn.cost + (others.cost or 0), tokens=turn.tokens + (others.tokens or 0))
    upcoming = next_task(state.plan)
    if upcoming is None or upcoming[1].status is not Status.IN_PROGRESS or not patience.has_task_budget:
        return turn
    ms, usage = spent_on(upcoming[1].number, history(), agent, used if used.is_known else None, turn.at)
    return replace(turn, task=Spent(usage.cost or 0, usage.tokens or 0, ms))
