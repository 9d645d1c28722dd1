"""Claude Code: `claude -p`, with the hooks in `--settings` and the server in `--mcp-config`, both as JSON text."""

import json

from tildone.fleet.agent_reports import claude_report
from tildone.fleet.drivers.launch import AgentContext, AgentLaunch, agent_environment, settings_of

EDITS = ("Edit", "Write", "NotebookEdit")
CLOUDS = {"CLAUDE_CODE_USE_BEDROCK": "bedrock", "CLAUDE_CODE_USE_VERTEX": "google"}
"""The providers through which Claude Code reaches its models, if not directly, by the variable that says so."""

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
    commands = ["Bash"] if context.allows_anything else [f"Bash({pattern})" for pattern in context.allow]
    permissions = {"allow": ["mcp__tildone", *EDITS, *commands]}
    settings = {"env": ours["env"], "hooks": ours["hooks"], "permissions": permissions}
    arguments = ["claude", "-p", context.prompt, "--settings", json.dumps(settings)]
    arguments += ["--setting-sources", "user", "--permission-mode", "acceptEdits"]
    arguments += ["--mcp-config", json.dumps({"mcpServers": ours["mcpServers"]}), "--strict-mcp-config"]
    arguments += ["--output-format", "stream-json", "--verbose", *context.model_option]
    clouds = [provider for name, provider in CLOUDS.items() if context.environ.get(name)]
    environ = agent_environment(context, ("anthropic", *clouds)) | ENVIRON
    return AgentLaunch(tuple(arguments), environ, report=claude_report)
