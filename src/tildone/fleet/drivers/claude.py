"""Claude Code: `claude -p`, with the hooks in `--settings` and the server in `--mcp-config`, both as JSON text."""

import json
import sys

from tildone.fleet.agent_reports import claude_report
from tildone.fleet.drivers.launch import AgentContext, AgentLaunch, agent_environment, settings_of
from tildone.fleet.permission_prompt import MODULE, SERVER, TOOL

EDITS = ("Edit", "Write", "NotebookEdit")
DIALOGS = ("AskUserQuestion", "EnterPlanMode", "ExitPlanMode")
"""Tools that need a person at the terminal."""

CLOUDS = {"CLAUDE_CODE_USE_BEDROCK": "bedrock", "CLAUDE_CODE_USE_VERTEX": "google"}
"""The providers through which Claude Code reaches its models, if not directly, by the variable that says so."""

ENVIRON = {
    "DISABLE_AUTOUPDATER": "1",
    # The first request waits for the tools.
    "MCP_CONNECTION_NONBLOCKING": "0",
}


def launch(context: AgentContext) -> AgentLaunch:
    """Return how Claude Code is started. It refuses whatever is not allowed, unless persons may be asked for it.

    The settings and the MCP servers of the repository do not count: nobody at this machine has trusted them.
    """
    ours = settings_of(context, "claude")
    commands = ["Bash"] if context.allows_anything else [f"Bash({pattern})" for pattern in context.allow]
    permissions = {"allow": ["mcp__tildone", *EDITS, *commands], "deny": DIALOGS}
    settings = {"env": ours["env"], "hooks": ours["hooks"], "permissions": permissions}
    arguments = ["claude", "-p", context.prompt, "--settings", json.dumps(settings)]
    arguments += ["--setting-sources", "user", "--permission-mode", "acceptEdits"]
    servers = ours["mcpServers"]
    if context.ask and not context.allows_anything:
        # With -P, no file of the repository is imported.
        servers |= {SERVER: {"type": "stdio", "command": sys.executable, "args": ["-P", "-m", MODULE]}}
        arguments += ["--permission-prompt-tool", f"mcp__{SERVER}__{TOOL}"]
    arguments += ["--mcp-config", json.dumps({"mcpServers": servers}), "--strict-mcp-config"]
    arguments += ["--output-format", "stream-json", "--verbose", *context.model_option]
    clouds = [provider for name, provider in CLOUDS.items() if context.environ.get(name)]
    environ = agent_environment(context, ("anthropic", *clouds)) | ENVIRON
    return AgentLaunch(tuple(arguments), environ, report=claude_report)
