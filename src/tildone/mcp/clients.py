"""The coding agents as MCP clients: queries on the integrations that this server needs."""

from __future__ import annotations

from functools import cache, lru_cache

from tildone.integrations import all_integrations
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.integrations.record import McpClient


@cache
def mcp_clients() -> dict[str, McpClient]:
    """Return the MCP clients among the coding agents, by the name of their integration."""
    return {integration.name: integration.mcp for integration in all_integrations() if integration.mcp is not None}


@cache
def host_programs() -> frozenset[str]:
    """Return the names of the programs of all coding agents."""
    return frozenset(integration.executable for integration in all_integrations()) - {""}


@lru_cache(maxsize=16)
def is_text_only(client_name: str) -> bool:
    """Return whether a client of that name must not be sent structured content."""
    return any(client.text_only and client_name.startswith(client.names) for client in mcp_clients().values())


def has_resource_tools(client_name: str) -> bool:
    """Return whether a client of that name gives its model tools for the resources of servers."""
    return any(client.resource_tools and client_name.startswith(client.names) for client in mcp_clients().values())


def integration_of(client_name: str) -> str:
    """Return the integration whose coding agent has that name as a client; the client's own name if there is none."""
    matching = (name for name, client in mcp_clients().items() if client_name.startswith(client.names))
    return next(matching, client_name)


def is_another(client_name: str, integration: str) -> bool:
    """Return whether a client of that name is known to be a coding agent other than `integration`."""
    others = (client for name, client in mcp_clients().items() if name != integration)
    return any(client_name.startswith(client.names) for client in others)
