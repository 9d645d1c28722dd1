"""The MCP facts of every integration: the names of clients, where they put their conversation id, what they get."""

from __future__ import annotations

from tildone.integrations import all_integrations
from tildone.integrations.record import McpClient

CLIENTS: dict[str, McpClient] = {each.name: each.mcp for each in all_integrations() if each.mcp is not None}
"""By the name of the integration."""

TEXT_ONLY = tuple(name for client in CLIENTS.values() if client.text_only for name in client.names)
"""The names, as prefixes, of the clients that get no structured content."""
