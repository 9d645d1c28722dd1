"""The coding agents as MCP clients: queries on the integrations that this server needs."""

from __future__ import annotations

from functools import lru_cache

from tildone.agents.identity import KNOWN

CLIENTS = {name: known.mcp for name, known in KNOWN.items() if known.mcp is not None}
"""The MCP clients among the coding agents, by the name of their integration."""

HOST_PROGRAMS = frozenset(known.executable for known in KNOWN.values() if known.executable)
"""The names of the programs of all coding agents."""


@lru_cache(maxsize=16)
def is_text_only(client_name: str) -> bool:
    """Return whether a client of that name must not be sent structured content."""
    return any(client.text_only and client_name.startswith(client.names) for client in CLIENTS.values())


def has_resource_tools(client_name: str) -> bool:
    """Return whether a client of that name gives its model tools for the resources of servers."""
    return any(client.resource_tools and client_name.startswith(client.names) for client in CLIENTS.values())


def integration_of(client_name: str) -> str:
    """Return the integration whose coding agent has that name as a client; the client's own name if there is none."""
    matching = (name for name, client in CLIENTS.items() if client_name.startswith(client.names))
    return next(matching, client_name)


def is_another(client_name: str, integration: str) -> bool:
    """Return whether a client of that name is known to be a coding agent other than `integration`."""
    others = (client for name, client in CLIENTS.items() if name != integration)
    return any(client_name.startswith(client.names) for client in others)
