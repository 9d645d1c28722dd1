"""Coding agents: a record of facts about each, the hooks that they call, the MCP server, install and doctor."""
