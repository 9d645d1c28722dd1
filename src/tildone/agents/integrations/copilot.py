"""Copilot CLI. Its hooks and settings were observed in the running program.

It needs no account with a model of one's own (`COPILOT_PROVIDER_BASE_URL`, `COPILOT_OFFLINE`).
"""

import os
from typing import Any

from tildone.agents.install import Inspection, Installation, Site
from tildone.agents.integrations import (
    BLOCK,
    FIELDS,
    TEXT,
    TIMEOUT_SECONDS,
    ContinuationLimit,
    HookPoint,
    Hooks,
    Integration,
    TranscriptFormat,
)

POINTS = {
    "agentStop": HookPoint.STOP,
    "subagentStop": HookPoint.STOP,
    "sessionStart": HookPoint.SESSION_START,
    "userPromptSubmitted": HookPoint.PROMPT,
    "preCompact": HookPoint.COMPACTION,
    "preToolUse": HookPoint.BEFORE_TOOL,
    "postToolUse": HookPoint.AFTER_TOOL,
    "postToolUseFailure": HookPoint.TOOL_FAILED,
    "sessionEnd": HookPoint.SESSION_END,
}
"""The events that an installation registers hooks for."""

LIST_OF_ROWS = "Its todos are rows of a database that the model writes in SQL; hooks do not get the rows."
WARNINGS_AT = (HookPoint.STOP, HookPoint.SESSION_START, HookPoint.PROMPT)
CONTEXT = {"additionalContext": TEXT}


def _configure(installation: Installation) -> None:
    site = installation.site
    if site.mcp:
        servers = os.path.join(_user_folder(site), "mcp-config.json")
        file = servers if site.for_user else os.path.join(site.project, ".github", "mcp.json")
        # Its tools would otherwise be offered after a search only.
        server = {"type": "local", **site.mcp_server, "tools": ["*"], "deferTools": "never"}
        installation.set_member(file, ("mcpServers", "tildone"), server)
    if site.hooks:
        folder = _user_folder(site) if site.for_user else os.path.join(site.project, ".github")
        hooks = {event: [_hook(site, event)] for event in POINTS}
        installation.write_json(os.path.join(folder, "hooks", "tildone.json"), {"version": 1, "hooks": hooks})
        if site.for_user:
            line = {"type": "command", "command": site.hook_command("copilot", "statusLine")}
            installation.set_member(os.path.join(folder, "settings.json"), ("statusLine",), line, yields=True)


def _hook(site: Site, event: str) -> dict[str, Any]:
    bash = powershell = site.hook_command("copilot", event)
    if POINTS[event] not in WARNINGS_AT:
        # Copilot CLI refuses every tool call whose hook fails, also if the program is gone.
        bash, powershell = f"{bash} || true", f"{powershell}; exit 0"
    return {"type": "command", "bash": bash, "powershell": f"& {powershell}", "timeoutSec": TIMEOUT_SECONDS}


def _user_folder(site: Site) -> str:
    return site.environ.get("COPILOT_HOME") or os.path.join(site.home, ".copilot")


def _silencers(inspection: Inspection) -> None:
    # The setting of that name in the person's own file disables nothing, although the program's help says so.
    shared = os.path.join(inspection.site.project, ".github", "copilot")
    files = [os.path.join(shared, name) for name in ("settings.json", "settings.local.json")]
    disabled, file = inspection.last(files, "disableAllHooks")
    if disabled is True:
        inspection.silenced(f"all hooks are disabled in {file}", "remove disableAllHooks there")


INTEGRATION = Integration(
    name="copilot",
    title="Copilot CLI",
    tried="1.0.102",
    listing=("mcp", "list"),
    # From these versions on, a hook can continue an agent that has stopped, and a server keeps its tools in a request.
    min_versions={"gate": "0.0.401", "tools": "1.0.63"},
    folder=_user_folder,
    configure=_configure,
    prompts={
        "project": ("whether you trust the files in this folder; hooks and servers of a project count only then",)
    },
    silencers=_silencers,
    hooks=Hooks(
        points={**POINTS, "statusLine": HookPoint.STATUS_LINE},
        fields={
            **FIELDS,
            # A subagent has a session of its own.
            "conversation": "parentAgentId sessionId session_id",
            "last_message": "response",
            "subagent": "agentId",
            "subagent_kind": "agentType",
            "tool": "toolName",
            "tool_input": "toolArgs",
            "tool_response": "toolResult",
            "transcript": "transcriptPath",
            "stop_status": "stopReason",
        },
        continue_reply=BLOCK,
        context_replies=dict.fromkeys(
            (HookPoint.SESSION_START, HookPoint.PROMPT, HookPoint.AFTER_TOOL, HookPoint.TOOL_FAILED), CONTEXT
        ),
        halt_replies={HookPoint.BEFORE_TOOL: {"permissionDecision": "deny", "permissionDecisionReason": TEXT}},
        transcript=TranscriptFormat(
            message={"type": "assistant.message"},
            text="data.content",
            prompt={"type": "user.message"},
            subagent="agentId",
            mark=("data.input.timestamp", "timestamp"),
        ),
        warnings_at=WARNINGS_AT,
        starts_servers=True,
        continues_subagents=True,
        subagent_stop="subagentStop",
        # Versions before 1.0.72 have no limit, and do not tell that a stop follows another.
        continuation_limit=ContinuationLimit(lambda _: 8, per_prompt=True),
        echoes_nudges=True,
        conversation_variable="COPILOT_AGENT_SESSION_ID",
        project_variable="COPILOT_PROJECT_DIR",
    ),
    notes={
        "fork": "Copilot CLI has no option that forks a conversation.",
        "held": (
            "Copilot CLI goes on eight times after one prompt, whatever is done meanwhile. The agent is let go then, "
            "and a prompt starts it again."
        ),
        "native list": LIST_OF_ROWS,
        "checked native list": LIST_OF_ROWS,
        "stop": "Copilot CLI ends no turn for a hook: every tool call is refused, and the model is told to stop.",
        "status line": "Copilot CLI shows it only at a terminal; without one, the test runs the installed command.",
    },
)
