"""Fast path: decide that a hook has nothing to say without loading the store.

A hook runs at every stop and every tool call of every agent, most have nothing to say, and imports are most of what a
hook costs. So the agent's record and a summary of its session, which take next to nothing to read, are consulted first.
The fast path may only err in one direction: where it can't tell, it returns False and the store is loaded
(`answers.py`), which decides again from the whole state.
"""

from __future__ import annotations

import os
from time import time_ns

from tildone.agents.registry import CALLER, Agents
from tildone.integrations.record import HookPoint
from tildone.log.json_markers import GO, STOP
from tildone.stores.sqlite.summary import summarize
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from tildone.config import Settings
    from tildone.hooks.event import HookEvent
    from tildone.stores.sqlite.summary import SessionSummary

COST_NOTE = "cost"
"""The note about an agent that holds what its conversation has cost so far, in dollars."""

OUR_TOOLS = "tildone"
"""What the names of our tools contain where agents prefix them with the name of the MCP server."""

CONTINUING = frozenset({"clear"})
"""The reasons for which a conversation ends and goes on under another id, in the same process."""


def try_fast_path(event: HookEvent, settings: Settings, pid: int) -> bool:
    """Handle the event if that takes no store; whether it is handled. Errors of the store are left to who opens it."""
    agents = Agents(settings.agents_dir, settings.project)
    key = event.key(pid)
    if key.endswith(":pid:0"):
        return True
    if event.point is HookPoint.STOP and (event.outside_the_plan or not settings.gate):
        return True
    if event.point is HookPoint.SESSION_END:
        _end(event, agents, key, pid)
        return True
    if event.point is HookPoint.COMPACTION:
        _compact(event, agents, key)
        return True
    if event.hooks.shares_process and event.point is HookPoint.BEFORE_TOOL and OUR_TOOLS in event.text("tool"):
        # The MCP server sees only the process; this tells it which conversation calls next.
        agents.jot(f"{event.integration.name}:pid:{pid}", CALLER, key)
    session = _session(agents, key, pid, settings)
    if session is None or event.point is HookPoint.STATUS_LINE or not os.path.isabs(settings.store):
        return False
    summary = _summary(settings, session)
    return summary is not None and _is_silent(event, summary, agents, key)


def _session(agents: Agents, key: str, pid: int, settings: Settings) -> str | None:
    """The session that the agent works on; None where it has to be admitted first."""
    agent = agents.known(key)
    if agent is not None:
        fresh = agent.is_fresh(pid, time_ns() // 1_000_000)
        return agent.session if fresh and settings.handle in (None, agent.session) else None
    return settings.session if next(agents.all(), None) is None else None


def _summary(settings: Settings, session: str) -> SessionSummary | None:
    summary = summarize(settings.store, session)
    if summary is None or summary.head is not None or session == settings.session:
        return summary
    # The agent's own session has not begun: the directive for the project holds for it as well.
    project = summarize(settings.store, settings.session)
    return None if project is None or project.directive != GO else summary


def _is_silent(event: HookEvent, summary: SessionSummary, agents: Agents, key: str) -> bool:
    match event.point:
        case HookPoint.STOP:
            return not summary.workable or summary.directive != GO
        case HookPoint.SESSION_START:
            return not (summary.workable or summary.blocked)
        case HookPoint.PROMPT:
            agent = agents.known(key)
            seen = None if agent is None else agent.seen
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


def _compact(event: HookEvent, agents: Agents, key: str) -> None:
    """Forget what the model has seen of its plan: compaction removes that from its context."""
    agent = agents.known(key)
    if agent is not None and event.hooks.compaction_trigger in ("", event.text("trigger")):
        agents.keep(replace(agent, seen=None))


def _end(event: HookEvent, agents: Agents, key: str, pid: int) -> None:
    """Forget the agent whose conversation has ended; its plan stays."""
    agent = agents.known(key)
    if agent is None:
        return
    if event.text("reason") in CONTINUING:
        agents.keep(replace(agent, key=f"{event.integration.name}:pid:{pid}", seen=None))
        agents.forget(key)
    else:
        agents.leave(agent)
