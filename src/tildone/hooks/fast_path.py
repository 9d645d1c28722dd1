"""Fast path: decide that a hook has nothing to say without loading the store.

A hook runs at every stop and every tool call of every agent, most have nothing to say, and imports are most of what a
hook costs. So the agent's record and a summary of its session, which take next to nothing to read, are consulted first.
The fast path may only err in one direction: where it can't tell, it returns False and the store is loaded
(`answers.py`), which decides again from the whole state.
"""

from __future__ import annotations

import os
from time import time_ns

from tildone.agents.identity import AgentId
from tildone.agents.registry import CALLER_NOTE, AgentRegistry
from tildone.integrations.record import HookPoint
from tildone.log.summary import GO, STOP, SessionSummary
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from tildone.config import Settings
    from tildone.hooks.event import HookEvent

COST_NOTE = "cost"
"""The note about an agent that holds what its conversation has cost so far, in dollars."""

OUR_TOOLS = "tildone"
"""What the names of our tools contain where agents prefix them with the name of the MCP server."""

CONTINUING = frozenset({"clear"})
"""The reasons for which a conversation ends and goes on under another id, in the same process."""


def try_fast_path(event: HookEvent, settings: Settings, pid: int) -> bool:
    """Handle the event if that takes no store; whether it is handled. Errors of the store are left to who opens it."""
    agents = AgentRegistry(settings.agents_dir, settings.project)
    agent_id = event.agent_id(pid)
    if agent_id.is_unknown:
        return True
    if event.point is HookPoint.STOP and (event.outside_the_plan or not settings.gate):
        return True
    if event.point is HookPoint.SESSION_END:
        _end(event, agents, agent_id, pid)
        return True
    if event.point is HookPoint.COMPACTION:
        _compact(event, agents, agent_id)
        return True
    if event.hooks.shares_process and event.point is HookPoint.BEFORE_TOOL and OUR_TOOLS in event.text("tool"):
        # The MCP server sees only the process; this tells it which conversation calls next.
        agents.set_note(AgentId(event.integration.name, pid=pid), CALLER_NOTE, str(agent_id))
    session = _session(agents, agent_id, pid, settings)
    if session is None or event.point is HookPoint.STATUS_LINE or settings.store.scheme:
        return False
    summary = _summary(settings, session)
    return summary is not None and _is_silent(event, summary, agents, agent_id)


def _session(agents: AgentRegistry, agent_id: AgentId, pid: int, settings: Settings) -> str | None:
    """The session that the agent works on; None where it has to be admitted first."""
    agent = agents.get(agent_id)
    if agent is not None:
        fresh = agent.is_fresh(pid, time_ns() // 1_000_000)
        return agent.session if fresh and settings.named_session in (None, agent.session) else None
    return settings.session if next(agents.all(), None) is None else None


def _summary(settings: Settings, session: str) -> SessionSummary | None:
    """The summary of the session; None where only the store can tell."""
    if not os.path.exists(settings.store.location):
        return SessionSummary()
    # Late, because there may be no file to read.
    from tildone.stores.sqlite.summary import read_summary  # noqa: PLC0415  see above

    summary = read_summary(settings.store.location, session)
    if summary is None or summary.head is not None or session == settings.session:
        return summary
    # The agent's own session has not begun: the directive for the project holds for it as well.
    project = read_summary(settings.store.location, settings.session)
    return None if project is None or project.directive != GO else summary


def _is_silent(event: HookEvent, summary: SessionSummary, agents: AgentRegistry, agent_id: AgentId) -> bool:
    match event.point:
        case HookPoint.STOP:
            return not summary.workable or summary.directive != GO
        case HookPoint.SESSION_START:
            return not (summary.workable or summary.blocked)
        case HookPoint.PROMPT:
            agent = agents.get(agent_id)
            seen = None if agent is None else agent.seen_head
            news = seen != summary.head if seen else summary.workable or summary.blocked
            return not news and not summary.tripped
        case HookPoint.BEFORE_TOOL:
            return summary.directive != STOP
        case HookPoint.AFTER_TOOL:
            return summary.directive != STOP and not _writes_native_list(event)
        case _:
            return False


def _writes_native_list(event: HookEvent) -> bool:
    tool, integration = event.text("tool"), event.integration
    return tool in integration.list_tools or tool in integration.task_tools.values()


def _compact(event: HookEvent, agents: AgentRegistry, agent_id: AgentId) -> None:
    """Forget what the model has seen of its plan: compaction removes that from its context."""
    agent = agents.get(agent_id)
    if agent is not None and event.hooks.compaction_trigger in ("", event.text("trigger")):
        agents.save(replace(agent, seen_head=None))


def _end(event: HookEvent, agents: AgentRegistry, agent_id: AgentId, pid: int) -> None:
    """Forget the agent whose conversation has ended; its plan stays."""
    agent = agents.get(agent_id)
    if agent is None:
        return
    if event.text("reason") in CONTINUING:
        agents.save(replace(agent, id=AgentId(event.integration.name, pid=pid), seen_head=None))
        agents.remove(agent_id)
    else:
        agents.release(agent)
