"""What the agents of a session have cost: each one's newest figure, added up.

The figures in a log are cumulative, one series for each agent. The outline of a session keeps where each series stands,
so that after a change only the new events are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from tildone.log.events import Event
from tildone.log.presence import Presence
from tildone.value import value

MAX_EVENTS_READ = 2_000
"""How many events are read for the costs of a session that was not known before, the newest first."""


@value
class AgentCost:
    """What an agent has cost, in dollars. `newest` is its newest figure: it may have begun again from 0 before."""

    agent: str
    spent: float
    newest: float


class CostsRead:
    """Events of a session, the newest first, and the costs in them. `known` are the costs up to the event `head`."""

    def __init__(self, newest_first: Iterable[Event], known: Sequence[AgentCost] = (), head: str | None = None) -> None:
        self._events = iter(newest_first)
        self._known, self._head = known, head
        self._found: list[tuple[str, float]] = []
        self._reached = False

    def __iter__(self) -> Iterator[Event]:
        for event in self._events:
            self._reached = self._reached or (self._head is not None and event.id == self._head)
            if not self._reached and event.usage and event.usage.cost is not None:
                self._found.append((event.author.agent, event.usage.cost))
            yield event

    def costs(self) -> tuple[AgentCost, ...]:
        """Read what was not read yet, as far as that is needed, and return the costs of all agents."""
        unread = () if self._reached else islice(self, MAX_EVENTS_READ)
        for _ in unread:
            if self._reached:
                break
        costs = {cost.agent: cost for cost in self._known} if self._reached else {}
        for agent, figure in reversed(self._found):
            before = costs.get(agent, AgentCost(agent, 0.0, 0.0))
            more = figure - before.newest if figure >= before.newest else figure
            costs[agent] = AgentCost(agent, before.spent + more, figure)
        return tuple(costs.values())


def spent(costs: Sequence[AgentCost], present: Sequence[Presence]) -> float:
    """Return what all agents have cost. Those that are `present` may have figures that are not in the log yet."""
    newest = {cost.agent: cost.newest for cost in costs}
    unlogged = (max(0.0, agent.cost - newest.get(agent.agent, 0.0)) for agent in present)
    return sum(cost.spent for cost in costs) + sum(unlogged)
