"""Claude Code: `claude -p`, with the hooks in `--settings` and the server in `--mcp-config`, both as JSON text."""

from __future__ import annotations

import json

from tildone.fleet.drivers.launch import AgentContext, AgentLaunch, agent_environment, settings_of

EDITS = ("Edit", "Write", "NotebookEdit")
ENVIRON = {
    "DISABLE_AUTOUPDATER": "1",
    # The first request waits for the tools.
    "MCP_CONNECTION_NONBLOCKING": "0",
}


def launch(context: AgentContext) -> AgentLaunch:
    """Return how Claude Code is started. Without a person, it refuses whatever is not allowed.

    The settings and the MCP servers of the repository do not count: nobody at this machine has trusted them.
    """
    ours = settings_of(context, "claude")
    permissions = {"allow": ["mcp__tildone", *EDITS, *_commands(context)]}
    settings = {"hooks": ours["hooks"], "permissions": permissions}
    arguments = ["claude", "-p", context.prompt, "--settings", json.dumps(settings)]
    arguments += ["--setting-sources", "user", "--permission-mode", "acceptEdits"]
    arguments += ["--mcp-config", json.dumps({"mcpServers": ours["mcpServers"]}), "--strict-mcp-config"]
    arguments += ["--model", context.model] if context.model else []
    environ = agent_environment(context, ("anthropic", *_clouds(context)))
    return AgentLaunch(tuple(arguments), environ | ENVIRON)


def _commands(context: AgentContext) -> list[str]:
    return ["Bash"] if context.allows_anything else [f"Bash({pattern})" for pattern in context.allow]


def _clouds(context: AgentContext) -> list[str]:
    """Return the providers through which Claude Code reaches its models, if not directly."""
    clouds = {"CLAUDE_CODE_USE_BEDROCK": "bedrock", "CLAUDE_CODE_USE_VERTEX": "google"}
    return [provider for name, provider in clouds.items() if context.environ.get(name)]
