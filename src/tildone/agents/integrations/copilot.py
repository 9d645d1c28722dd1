"""Copilot CLI, as its documentation describes it: it can't be run without an account."""

import os
from typing import Any

from tildone.agents.install import Installation, Site
from tildone.agents.integrations import BLOCK, FIELDS, TEXT, TIMEOUT_SECONDS, HookPoint, Hooks, Integration

INSTALLED_EVENTS = ("agentStop", "sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "sessionEnd")


def _configure(installation: Installation) -> None:
    site = installation.site
    if site.mcp and site.for_user:
        servers = os.path.join(site.home, ".copilot", "mcp-config.json")
        server = {"type": "local", **site.mcp_server, "tools": ["*"], "deferTools": "never"}
        installation.set_member(servers, ("mcpServers", "tildone"), server)
    if site.hooks:
        file = site.at(".copilot/hooks/tildone.json", ".github/hooks/tildone.json")
        hooks = {event: [_hook(site, event)] for event in INSTALLED_EVENTS}
        installation.write_json(file, {"version": 1, "hooks": hooks})


def _hook(site: Site, event: str) -> dict[str, Any]:
    command = site.hook_command("copilot", event)
    return {"type": "command", "bash": command, "powershell": f"& {command}", "timeoutSec": TIMEOUT_SECONDS}


INTEGRATION = Integration(
    name="copilot",
    title="Copilot CLI",
    folder=lambda site: os.path.join(site.home, ".copilot"),
    configure=_configure,
    hooks=Hooks(
        points={
            "agentStop": HookPoint.STOP,
            "sessionStart": HookPoint.SESSION_START,
            "userPromptSubmitted": HookPoint.PROMPT,
            "preToolUse": HookPoint.BEFORE_TOOL,
            "postToolUse": HookPoint.AFTER_TOOL,
            "preCompact": HookPoint.COMPACTION,
            "sessionEnd": HookPoint.SESSION_END,
        },
        fields={
            **FIELDS,
            "conversation": "sessionId",
            "tool": "toolName",
            "tool_input": "toolArgs",
            "tool_response": "toolResult",
            "stop_status": "stopReason",
        },
        continue_reply=BLOCK,
        context_replies={},
        halt_replies={HookPoint.BEFORE_TOOL: {"permissionDecision": "deny", "permissionDecisionReason": TEXT}},
    ),
)
