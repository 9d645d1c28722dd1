"""The coding agents as MCP clients: the part of each integration that concerns this server."""

from __future__ import annotations

from functools import cache

from tildone.integrations import all_integrations
from tildone.integrations.record import McpClient


@cache
def mcp_clients() -> dict[str, McpClient]:
    """What is known of each coding agent as a client, by the name of its integration."""
    return {one.name: one.mcp for one in all_integrations() if one.mcp is not None}


def is_text_only(client_name: str) -> bool:
    """Whether a client of that name must not be sent structured content."""
    return any(client.text_only and client_name.startswith(client.names) for client in mcp_clients().values())


def is_another(client_name: str, integration: str) -> bool:
    """Whether a client of that name is known to be a coding agent other than `integration`."""
    others = (client for name, client in mcp_clients().items() if name != integration)
    return any(client_name.startswith(client.names) for client in others)
