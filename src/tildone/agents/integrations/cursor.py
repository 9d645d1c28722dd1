"""Cursor, as its documentation describes it: it can't be run without an account."""

import os
from typing import Any

from tildone.agents.install import Installation
from tildone.agents.integrations import FIELDS, TEXT, HookPoint, Hooks, Integration

MAX_CONTINUATIONS = 50
"""Cursor's own bound on follow-up messages; the gate's bounds are reached first."""

INSTALLED_EVENTS = (
    "stop",
    "sessionStart",
    "beforeSubmitPrompt",
    "preToolUse",
    "postToolUse",
    "afterAgentResponse",
    "preCompact",
    "sessionEnd",
)


def _configure(installation: Installation) -> None:
    site = installation.site
    if site.mcp:
        servers = site.at(".cursor/mcp.json", ".cursor/mcp.json")
        installation.set_member(servers, ("mcpServers", "tildone"), site.mcp_server)
    if site.hooks:
        hooks = site.at(".cursor/hooks.json", ".cursor/hooks.json")
        installation.set_member(hooks, ("version",), 1, yields=True)
        for event in INSTALLED_EVENTS:
            hook: dict[str, Any] = {"command": site.hook_command("cursor", event)}
            limit = {"loop_limit": MAX_CONTINUATIONS} if event == "stop" else {}
            installation.add_item(hooks, ("hooks", event), hook | limit)


INTEGRATION = Integration(
    name="cursor",
    title="Cursor",
    folder=lambda site: os.path.join(site.home, ".cursor"),
    configure=_configure,
    prompts={"project": ("whether to enable the MCP server of the project",)},
    hooks=Hooks(
        points={
            "stop": HookPoint.STOP,
            "sessionStart": HookPoint.SESSION_START,
            "beforeSubmitPrompt": HookPoint.PROMPT,
            "preToolUse": HookPoint.BEFORE_TOOL,
            "beforeShellExecution": HookPoint.BEFORE_TOOL,
            "beforeMCPExecution": HookPoint.BEFORE_TOOL,
            "postToolUse": HookPoint.AFTER_TOOL,
            "afterAgentResponse": HookPoint.MESSAGE,
            "preCompact": HookPoint.COMPACTION,
            "sessionEnd": HookPoint.SESSION_END,
        },
        fields={
            **FIELDS,
            "conversation": "conversation_id session_id",
            "cwd": "workspace_roots.0 cwd",
            "last_message": "text",
            "tool_response": "tool_output",
        },
        continue_reply={"followup_message": TEXT},
        context_replies={HookPoint.SESSION_START: {"additional_context": TEXT}},
        halt_replies={HookPoint.BEFORE_TOOL: {"permission": "deny", "user_message": TEXT, "agent_message": TEXT}},
        project_variable="CURSOR_PROJECT_DIR",
    ),
    list_tools={"TodoWrite": ("todos", "content"), "todo_write": ("todos", "content")},
)
