"""What the agent of a session has used, for the budgets of its conversation and of the task in progress."""

from __future__ import annotations

from tildone.core.plan import Status
from tildone.core.query import next_task
from tildone.history.usage import spent_on
from tildone.loop.decision import Spent
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tildone.log.events import Event
    from tildone.log.state import State
    from tildone.log.usage import AgentUsage
    from tildone.loop.decision import Patience, Turn


def with_spending(
    state: State, patience: Patience, turn: Turn, agent: str, used: AgentUsage, history: Callable[[], Iterable[Event]]
) -> Turn:
    """Return the facts about a turn with what its agent has used by then, as far as it is known.

    `history` returns the events of the state, the newest first.
    """
    turn = replace(turn, cost=max(turn.cost, used.cost or 0), tokens=used.tokens or 0)
    upcoming = next_task(state.plan)
    if upcoming is None or upcoming[1].status is not Status.IN_PROGRESS or not patience.has_task_budget:
        return turn
    ms, usage = spent_on(upcoming[1].number, history(), agent, used if used.is_known else None, turn.at)
    return replace(turn, task=Spent(usage.cost or 0, usage.tokens or 0, ms))
