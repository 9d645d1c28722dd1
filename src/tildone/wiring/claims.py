"""Which tasks of a shared plan other agents are working on.

A task that is in progress belongs to the agent that started it, for as long as that agent is active. Starting a task
that is in progress already changes nothing and leaves no event, so of two agents that start a task at once, the log
names exactly one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from tildone.agents.identity import AgentId
from tildone.agents.registry import Agent
from tildone.config import Settings
from tildone.core.numbers import numbered
from tildone.core.plan import Plan, Status
from tildone.ids import now
from tildone.log.events import Event, PlanChanged
from tildone.log.store import Store
from tildone.wiring import open_agents

MAX_EVENTS_SEARCHED = 1000
"""How many events back the start of a task is searched. A task that was started earlier belongs to nobody."""


def claimed_by_others(settings: Settings, store: Store, own: Callable[[], str]) -> Callable[[], frozenset[int]]:
    """Return a function that returns the numbers of the tasks that other agents work on; `own` is our agent id."""

    def claimed() -> frozenset[int]:
        own_id = own()
        others = [agent for agent in agents_on(settings) if str(agent.id) != own_id]
        claims = claims_of(others, store, settings.session)
        return frozenset(number for numbers in claims.values() for number in numbers)

    return claimed


def agents_on(settings: Settings) -> list[Agent]:
    """Return the active agents that work on the session that the settings name."""
    return [agent for agent in open_agents(settings).active(now()) if agent.session == settings.session]


def claims_of(agents: Sequence[Agent], store: Store, session: str) -> dict[str, list[int]]:
    """Return the numbers of the tasks in progress that each of these agents has started, by its id."""
    claims = {str(agent.id): list[int]() for agent in agents}
    if not agents:
        return claims
    ids = {author: str(agent.id) for agent in agents for author in _authors(agent)}
    for number, author in sorted(started_by(islice(store.history(session), MAX_EVENTS_SEARCHED)).items()):
        if author in ids:
            claims[ids[author]].append(number)
    return claims


def _authors(agent: Agent) -> Iterator[str]:
    """The names under which an agent's changes are recorded: before it revealed a conversation, by its process."""
    yield str(agent.id)
    if agent.pid:
        yield str(AgentId(agent.id.integration, pid=agent.pid))


def started_by(newest_first: Iterable[Event]) -> dict[int, str]:
    """Return, for each task in progress, the agent that started it; empty for a person."""
    starters: dict[int, str] = {}
    current: set[int] | None = None
    newer: Event | None = None
    for event in newest_first:
        if not isinstance(event.fact, PlanChanged):
            continue
        active = _active(event.fact.plan)
        if current is None:
            current = active
        elif newer is not None:
            starters |= {number: newer.author.agent for number in current - active if number not in starters}
        newer = event
        if current <= starters.keys():
            return starters
    # The oldest event that was read began the history, or the search ends there.
    if current is not None and newer is not None:
        starters |= {number: newer.author.agent for number in current if number not in starters}
    return starters


def _active(plan: Plan) -> set[int]:
    return {task.number for task in numbered(plan).tasks if task.status is Status.IN_PROGRESS}
