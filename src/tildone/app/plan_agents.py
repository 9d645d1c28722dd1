"""Who works on a plan: the agents that share it, each with its tasks, and the lists of their subagents."""

from __future__ import annotations

from tildone.app.opening import open_agents
from tildone.base import TYPE_CHECKING, value
from tildone.base.ids import now
from tildone.plan.events import latest_state
from tildone.plan.model import open_tasks
from tildone.stores.assignment import is_shared, own_names, subagents_on

if TYPE_CHECKING:
    from tildone.app.settings import Settings
    from tildone.log.store import Store
    from tildone.plan.model import Plan
    from tildone.stores.agents import Agent
    from tildone.stores.assignment import Subagent


@value
class SharingAgent:
    """An agent that is at work on a shared plan, and the numbers of the tasks that it has started."""

    agent: Agent
    tasks: tuple[int, ...]


@value
class SubagentList:
    """A subagent and its list."""

    subagent: Subagent
    plan: Plan


@value
class PlanAgents:
    """The agents on a plan. `shared` means that several are at work on it, or may be, because a person wants it so."""

    shared: bool
    agents: tuple[SharingAgent, ...]
    subagents: tuple[SubagentList, ...]


def plan_agents(settings: Settings, store: Store) -> PlanAgents:
    """Return who works on the session that the settings name. Subagents without a list are left out."""
    registry = open_agents(settings)
    here = [agent for agent in registry.active(now()) if agent.session == settings.session]
    shared = len(here) > 1 or (settings.session == registry.project and is_shared(registry))
    sharing = _with_tasks(here, store, settings.session) if shared else ()
    found = subagents_on(registry, settings.session, now())
    lists = [SubagentList(each, latest_state(store.history(each.agent.session)).plan) for each in found]
    return PlanAgents(shared, sharing, tuple(each for each in lists if each.plan.tasks))


def left_for(settings: Settings, agent: Agent, plan: Plan) -> list[int]:
    """Return the numbers of the open tasks of its plan to which an agent is not held: other conversations left them."""
    # Late, because few agents work on such a plan.
    from tildone.plan.holding import left_over

    own = own_names(open_agents(settings), agent, is_named=settings.named_session is not None)
    left = left_over(plan, own)
    return [task.number for _, task in open_tasks(plan) if task.number in left]


def _with_tasks(agents: list[Agent], store: Store, session: str) -> tuple[SharingAgent, ...]:
    # Late, because most plans are not shared.
    from tildone.app.claims import claims_of

    claims = claims_of(agents, store, session)
    return tuple(SharingAgent(agent, tuple(claims[str(agent.id)])) for agent in agents)
