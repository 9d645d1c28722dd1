"""Presence of a caller: the store is told at a tool call that it is at work, at most every 15 seconds."""

from __future__ import annotations

from tildone.agents.processes import machine_name
from tildone.errors import TildoneError
from tildone.ids import now
from tildone.log.presence import Presence
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.agents.registry import Agent
    from tildone.log.events import Author
    from tildone.log.store import Store

AT_MOST_EVERY_MS = 15_000


class CallerPresence:
    """What the store was told of one caller. `cost` returns what the conversation of an agent has cost so far."""

    def __init__(self, cost: Callable[[Agent], float]) -> None:
        self._cost = cost
        self._told = Presence("", "")

    def tell(self, store: Store, agent: Agent, author: Author, doing: str) -> None:
        """Tell that an agent is at work, unless that was told a moment ago. Failure changes nothing for the agent."""
        at, name = now(), author.agent or str(agent.id)
        if (name, agent.session) == (self._told.agent, self._told.session) and at - self._told.beat < AT_MOST_EVERY_MS:
            return
        host, cost = name.partition(":")[0], self._cost(agent)
        presence = Presence(name, agent.session, host, machine_name(), author.model, doing, at, cost=cost, beat=at)
        try:
            store.records.beat(presence)
        except TildoneError:
            return
        self._told = presence

    def leave(self, open_store: Callable[[], Store]) -> None:
        """Remove the presence, if the store was told."""
        if not self._told.agent:
            return
        try:
            open_store().records.leave(self._told.agent)
        except TildoneError:
            return
