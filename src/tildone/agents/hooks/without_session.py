"""What the fast path does now and then, and needs no session for: a probe, the end of a conversation, subagents.

A subagent has a list of its own. It learns nothing of its parent's plan, and its events change nothing there: its
prompts are not a person's, its end is not the parent's. After `tildone stop`, it ends as its parent does.
"""

import os
from contextlib import suppress
from importlib.metadata import version
from time import time_ns

from tildone.agents.hooks.event import HookEvent, begin_row
from tildone.agents.integrations import HookPoint
from tildone.app.opening import open_store
from tildone.app.settings import Settings
from tildone.base import NotFound, StoreError
from tildone.base.json import quoted
from tildone.stores.agents import AgentId, AgentRegistry
from tildone.stores.assignment import KIND_NOTE, MAX_KIND_CHARS, announce_call, call_key, end, subagent_id

STORE_TIMEOUT_SECONDS = 1.5
LEAVING_STORE_TIMEOUT_SECONDS = 0.5
"""How long the end of a session waits for a store that other processes are writing to."""

_LIKE_AN_AGENTS = (
    HookPoint.BEFORE_TOOL,
    HookPoint.AFTER_TOOL,
    HookPoint.TOOL_FAILED,
    HookPoint.TASK_CREATED,
    HookPoint.TASK_COMPLETED,
)


def leave(settings: Settings, agent_id: AgentId, session: str | None) -> None:
    """Remove the presence of an agent, and its claims in a session, if one is named. Failure is harmless."""
    path = settings.store.path
    if path is not None and not os.path.exists(path):
        return
    try:
        store = open_store(settings, timeout=LEAVING_STORE_TIMEOUT_SECONDS)
        if session is not None:
            store.records.release(session, str(agent_id))
        store.records.leave(str(agent_id))
    except StoreError:
        return


def probe_reply(settings: Settings) -> str:
    """Return the JSON that identifies this tildone."""
    path = settings.store.path
    if path is None or os.path.exists(path):
        # A database without plans is as good as one with plans.
        with suppress(NotFound):
            open_store(settings, timeout=STORE_TIMEOUT_SECONDS, read_only=True).close()
    return f'{{"tildone":{quoted(version("tildone"))}}}\n'


def settle(event: HookEvent, agents: AgentRegistry, parent: AgentId, settings: Settings, process: int) -> bool | None:
    """Return whether a subagent's event was handled; None if it is to be handled like one of its parent."""
    if event.point is HookPoint.STOP:
        if event.hooks.subagent_stop not in ("", event.name):
            return True
        return _is_free_to_stop(event, agents, subagent_id(parent, event.text("subagent")), settings)
    begin_row(event, agents, subagent_id(parent, event.text("subagent")))
    if event.point is HookPoint.BEFORE_TOOL and event.is_of_our_tool:
        _announce(event, agents, parent, process)
    return None if event.point in _LIKE_AN_AGENTS else True


def _announce(event: HookEvent, agents: AgentRegistry, parent: AgentId, process: int) -> None:
    """Note for the MCP server that the call with this id, or these arguments, is the subagent's."""
    own, given = event.text("subagent"), event.get("tool_input")
    subagent = subagent_id(parent, own)
    _note_kind(event, agents, subagent)
    client = event.integration.mcp
    if client is None or client.subagent_meta is not None:
        return
    call = event.text("call") if client.call_meta else ""
    key = call_key(call, process, given if isinstance(given, dict) else {})
    announce_call(agents, event.integration.name, key, parent, own)


def _note_kind(event: HookEvent, agents: AgentRegistry, subagent: AgentId) -> None:
    if event.text("subagent_kind"):
        agents.set_note(subagent, KIND_NOTE, event.text("subagent_kind")[:MAX_KIND_CHARS])


def _is_free_to_stop(event: HookEvent, agents: AgentRegistry, subagent: AgentId, settings: Settings) -> bool:
    """Return whether a subagent has no list that it could be held to. One that has a list and stops has ended."""
    if agents.get(subagent) is None:
        return True
    # Some agents tell it only now.
    _note_kind(event, agents, subagent)
    held = settings.gate and event.hooks.continues_subagents and not event.in_plan_mode
    if not held:
        end(agents, subagent, time_ns() // 1_000_000)
    return not held
