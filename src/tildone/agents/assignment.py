"""The choice of the session that an agent works on.

Theory of operation. An agent works on the session that it names or, without a name, on the one it had before. A new
agent that names none gets the project's session, but only one active agent at a time: every other one gets a session of
its own, `PROJECT#AGENT`, so that two agents in one folder never overwrite each other's plan. Agents that name the same
session share it, and so do all agents of a project whose plan is shared on purpose (`tildone.agents.sharing`).

The choice depends on all records, so it is made under the registry's lock: of agents that arrive at once, exactly one
gets the project's session. Before a new agent is registered, the record that it may already have under another identity
is looked up by process: an anonymous record gets the identity that is known now and keeps its session.
"""

from __future__ import annotations

from tildone.agents.processes import start_time
from tildone.agents.registry import Agent, new_reader
from tildone.agents.sharing import is_shared
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from tildone.agents.identity import AgentId
    from tildone.agents.registry import AgentRegistry

LOCK_TIMEOUT_SECONDS = 1.0


def assign_session(
    agents: AgentRegistry,
    agent_id: AgentId,
    pid: int,
    now: int,
    named_session: str | None = None,
    *,
    successor: bool = False,
) -> Agent:
    """Return the agent with that identity, and register it if it is new or its record is out of date.

    A `successor` continues the session of the agent that ran in its process before; its model has not seen the plan.

    Raises:
        StoreError: the record cannot be written.
    """
    agent = _current(agents, agent_id, pid, now, named_session)
    if agent is not None:
        return agent
    # Late, because most agents are registered already.
    from tildone.files.lock import FolderLock  # noqa: PLC0415  see above

    with FolderLock(agents.folder, LOCK_TIMEOUT_SECONDS):
        # Another process of this agent may have registered it while this one waited for the lock.
        current = _current(agents, agent_id, pid, now, named_session)
        if current is not None:
            return current
        agent = agents.get(agent_id)
        earlier = agent or _earlier(agents, agent_id, pid, now, successor=successor)
        if earlier is not None and named_session in (None, earlier.session):
            reader = new_reader(agent_id, now) if successor and agent is None else earlier.reader
            agent = _renewed(replace(earlier, id=agent_id, reader=reader), pid or earlier.pid, now)
        else:
            agents.remove_expired(now)
            session = named_session or _free_session(agents, agent_id, now)
            agent = _renewed(Agent(agent_id, session, new_reader(agent_id, now)), pid, now)
        agents.save(agent)
        if earlier is not None and earlier.id != agent_id:
            agents.remove(earlier.id)
    return agent


def _current(agents: AgentRegistry, agent_id: AgentId, pid: int, now: int, named_session: str | None) -> Agent | None:
    """Return the agent if its record need not be changed."""
    agent = agents.get(agent_id)
    is_current = agent is not None and agent.is_fresh(pid, now) and named_session in (None, agent.session)
    return agent if is_current else None


def _renewed(agent: Agent, pid: int, now: int) -> Agent:
    return replace(agent, pid=pid, last_active=now, started=start_time(pid))


def _earlier(agents: AgentRegistry, agent_id: AgentId, pid: int, now: int, *, successor: bool) -> Agent | None:
    """The record that this agent has under another identity, or else the record of the agent that it succeeds."""
    in_process = [agent for agent in agents.live(now) if pid and agent.pid == pid and not agent.is_subagent]
    same = [agent for agent in in_process if agent.id.is_process(pid) or agent_id.is_process(pid)]
    preceding = [agent for agent in in_process if successor and agent.id.integration == agent_id.integration]
    return max(same or preceding, key=lambda agent: agent.last_active, default=None)


def _free_session(agents: AgentRegistry, agent_id: AgentId, now: int) -> str:
    taken = not is_shared(agents) and any(agent.session == agents.project for agent in agents.active(now))
    return f"{agents.project}#{agent_id}" if taken else agents.project
