"""Recognising the tool call of a subagent, which shares its MCP server with the agent that started it."""

from __future__ import annotations

from tildone.agents.subagents import CallingSubagent, announced_caller, call_key
from tildone.mcp.clients import CLIENTS
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tildone.agents.identity import AgentId
    from tildone.agents.registry import AgentRegistry


def subagent_in_call(agents: AgentRegistry, agent: AgentId, params: Mapping[str, object]) -> CallingSubagent | None:
    """Return the subagent of `agent` that makes a call with these parameters; None if the agent itself makes it.

    The call names the subagent, or a hook has announced it.
    """
    client, meta, arguments = CLIENTS.get(agent.integration), params.get("_meta"), params.get("arguments")
    if client is None or "name" not in params:
        return None
    if client.subagent_meta is not None:
        named, fact = (_text(meta, key) for key in client.subagent_meta)
        return CallingSubagent(agent, named) if named and fact else None
    if client.call_meta:
        call = _text(meta, client.call_meta)
        return announced_caller(agents, agent.integration, call) if call else None
    if client.process_variable and agent.is_anonymous:
        key = call_key("", agent.pid, arguments if isinstance(arguments, dict) else {})
        return announced_caller(agents, agent.integration, key)
    return None


def _text(meta: object, key: str) -> str:
    for name in key.split():
        meta = meta.get(name) if isinstance(meta, dict) else None
    return meta if isinstance(meta, str) else ""
