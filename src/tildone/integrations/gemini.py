"""Gemini CLI. Its hooks and settings were observed in the running program."""

from __future__ import annotations

import os

from tildone.integrations.hook_protocol import CONTEXT, END_TURN, FIELDS, MESSAGE, TIMEOUT_SECONDS
from tildone.integrations.record import TEXT, HookPoint, Hooks, Integration, McpClient
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.integrations.settings.installation import Installation

POINTS = {
    "AfterAgent": HookPoint.STOP,
    "SessionStart": HookPoint.SESSION_START,
    "BeforeAgent": HookPoint.PROMPT,
    "PreCompress": HookPoint.COMPACTION,
    "BeforeTool": HookPoint.BEFORE_TOOL,
    "AfterTool": HookPoint.AFTER_TOOL,
    "SessionEnd": HookPoint.SESSION_END,
}
MANUAL = "manual"
"""Gemini CLI announces a compression before every request, but compresses only when a person asks for it."""


def _configure(installation: Installation) -> None:
    site, timeout = installation.site, TIMEOUT_SECONDS * 1000
    file = site.at(".gemini/settings.json", ".gemini/settings.json")
    if site.mcp:
        # The default timeout for a server that does not answer is ten minutes.
        server = {**site.mcp_server, "trust": True, "timeout": timeout}
        installation.set_member(file, ("mcpServers", "tildone"), server)
    if site.hooks:
        command = {"type": "command", "command": site.hook_command("gemini"), "name": "tildone", "timeout": timeout}
        for event, point in POINTS.items():
            matcher = {"matcher": MANUAL} if point is HookPoint.COMPACTION else {}
            installation.add_item(file, ("hooks", event), {**matcher, "hooks": [command]})
        installation.set_member(file, ("hooksConfig", "enabled"), entry=True, yields=True)


INTEGRATION = Integration(
    name="gemini",
    title="Gemini CLI",
    executable="gemini",
    folder=lambda site: os.path.join(site.home, ".gemini"),
    configure=_configure,
    hooks=Hooks(
        points=POINTS,
        fields={**FIELDS, "last_message": "prompt_response"},
        continue_reply={"decision": "deny", "reason": TEXT},
        # When a session is resumed, context added at its start is lost together with the prompt.
        context_replies={HookPoint.PROMPT: CONTEXT},
        halt_replies={HookPoint.BEFORE_TOOL: END_TURN, HookPoint.AFTER_TOOL: END_TURN},
        notice_reply=MESSAGE,
        conversation_variable="GEMINI_SESSION_ID",
        project_variable="GEMINI_PROJECT_DIR",
        compaction_trigger=MANUAL,
        cumulative_messages=True,
    ),
    mcp=McpClient(names=("gemini",), text_only=True),
    list_tools={"write_todos": ("todos", "description")},
    notes={"follows its own list": "`write_todos`."},
)
