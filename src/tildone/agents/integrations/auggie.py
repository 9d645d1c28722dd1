"""Auggie 0.36, as its documentation and its program describe it: it can't be run without an account."""

import os

from tildone.agents.install import Installation
from tildone.agents.integrations import (
    BLOCK,
    CONTEXT,
    DENY,
    EVENT,
    FIELDS,
    MESSAGE,
    TIMEOUT_SECONDS,
    HookPoint,
    Hooks,
    Integration,
)

POINTS = {
    "Stop": HookPoint.STOP,
    "SessionStart": HookPoint.SESSION_START,
    "PromptSubmit": HookPoint.PROMPT,
    "PreToolUse": HookPoint.BEFORE_TOOL,
    "PostToolUse": HookPoint.AFTER_TOOL,
    "SessionEnd": HookPoint.SESSION_END,
}


def _configure(installation: Installation) -> None:
    site = installation.site
    file = site.at(".augment/settings.json", ".augment/settings.json")
    if site.mcp:
        installation.set_member(file, ("mcpServers", "tildone"), site.mcp_server)
    if site.hooks:
        hook = {"type": "command", "command": site.hook_command("auggie"), "timeout": TIMEOUT_SECONDS * 1000}
        for event in POINTS:
            more = {"metadata": {"includeConversationData": True}} if event == "Stop" else {}
            installation.add_item(file, ("hooks", event), {"hooks": [hook], **more})


INTEGRATION = Integration(
    name="auggie",
    title="Auggie",
    folder=lambda site: os.path.join(site.home, ".augment"),
    configure=_configure,
    hooks=Hooks(
        points=POINTS,
        fields={
            **FIELDS,
            "conversation": "conversation_id",
            "cwd": "workspace_roots.0",
            "last_message": "conversation.agentTextResponse",
            "prompt": "user_prompt",
            "stop_status": "agent_stop_cause",
            "tool_response": "tool_output",
        },
        continue_reply={"hookSpecificOutput": {"hookEventName": EVENT, **BLOCK}},
        # What replies to a prompt is not read.
        context_replies=dict.fromkeys((HookPoint.SESSION_START, HookPoint.AFTER_TOOL), CONTEXT),
        halt_replies={HookPoint.BEFORE_TOOL: DENY},
        notice_reply=MESSAGE,
        conversation_variable="AUGMENT_CONVERSATION_ID",
        project_variable="AUGMENT_PROJECT_DIR",
    ),
)
