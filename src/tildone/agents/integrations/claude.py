"""Claude Code. Its hooks and settings were observed in the running program."""

from __future__ import annotations

import os

from tildone.agents.integrations import (
    BLOCK,
    CONTEXT,
    DENY,
    END_TURN,
    FIELDS,
    MESSAGE,
    SUBAGENT_POINTS,
    TIMEOUT_SECONDS,
    ContinuationLimit,
    HookPoint,
    Hooks,
    Integration,
    LaterReply,
    TaskAction,
)
from tildone.base import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from tildone.agents.install import Inspection, Installation, Site

CONFIG_VARIABLE = "CLAUDE_CONFIG_DIR"
CONVERSATION_VARIABLE = "CLAUDE_CODE_SESSION_ID"

CAP_VARIABLE = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"
DEFAULT_CAP, RAISED_CAP = 8, "100"
"""More than our own bounds allow without a tool call, so that these decide; a broken hook of others still ends."""

FIRST_WITH_CONTEXT = [2, 1, 163]
"""The first version that goes on if a stop hook adds context. Earlier ones end the turn then."""

MANAGED_SETTINGS = "/etc/claude-code/managed-settings.json"
"""Settings of an organization, which no other settings override."""

POINTS = {**SUBAGENT_POINTS, "PostToolUseFailure": HookPoint.TOOL_FAILED}
"""The events that an installation registers hooks for."""

PLAN_COMMAND = """---
description: Plan a task with tildone and work through it
argument-hint: TASK
---

Plan this with the todo tool, a few steps at a time, then work through the plan until nothing is open: $ARGUMENTS
"""


def _configure(installation: Installation) -> None:
    site = installation.site
    settings = _settings_file(site)
    if site.mcp:
        servers = _state_file(site) if site.for_user else os.path.join(site.project, ".mcp.json")
        installation.set_member(servers, ("mcpServers", "tildone"), _server(site))
        installation.add_item(settings, ("permissions", "allow"), "mcp__tildone")
    if site.hooks:
        for event in POINTS:
            installation.add_item(settings, ("hooks", event), {"hooks": [_hook(site)]})
        installation.set_member(settings, ("env", CAP_VARIABLE), RAISED_CAP, yields=True)
        line = {"type": "command", "command": _status_line(site)}
        installation.set_member(settings, ("statusLine",), line, yields=True)


def _settings_file(site: Site) -> str:
    folder = _user_folder(site) if site.for_user else os.path.join(site.project, ".claude")
    return os.path.join(folder, "settings.json")


def _status_line(site: Site) -> str:
    return site.hook_command("claude", "StatusLine")


def _user_folder(site: Site) -> str:
    return site.environ.get(CONFIG_VARIABLE) or os.path.join(site.home, ".claude")


def _state_file(site: Site) -> str:
    return os.path.join(site.environ.get(CONFIG_VARIABLE) or site.home, ".claude.json")


def _silencers(inspection: Inspection) -> None:
    site = inspection.site
    shared = os.path.join(site.project, ".claude")
    names = (_user_folder(site), "settings.json"), (shared, "settings.json"), (shared, "settings.local.json")
    files = [os.path.join(*name) for name in names]
    disabled, file = inspection.last([*files, MANAGED_SETTINGS], "disableAllHooks")
    if disabled is True:
        inspection.silenced(f"all hooks are disabled in {file}", "remove disableAllHooks there")
    if inspection.get(MANAGED_SETTINGS, "allowManagedHooksOnly") is True:
        inspection.silenced(f"{MANAGED_SETTINGS} allows no other hooks", "ask your administrator to add these hooks")
    if not site.for_user:
        file = inspection.lists(files, "tildone", "disabledMcpjsonServers")
        if file:
            inspection.silenced(f"the server is rejected in {file}", "remove tildone from disabledMcpjsonServers there")
    settings = _settings_file(site)
    line, hooks = inspection.get(settings, "statusLine"), inspection.get(settings, "hooks")
    if line is not None and "tildone" not in str(line) and "tildone" in str(hooks):
        inspection.kept("your own status line", f"to show the plan in it, give its input to: {_status_line(site)}")
    if inspection.lists([_state_file(site)], "tildone", "projects", site.project, "disabledMcpServers"):
        inspection.silenced("the server is disabled in this project", "enable tildone in Claude Code: /mcp")


def _server(site: Site) -> dict[str, Any]:
    # Claude Code offers other tools only after the model has searched for them, and waits for this server to start.
    return {"type": "stdio", **site.mcp_server, "alwaysLoad": True}


def _hook(site: Site) -> dict[str, Any]:
    return {"type": "command", "command": site.hook_command("claude"), "timeout": TIMEOUT_SECONDS}


def _continuations(cap: str) -> int | None:
    """Return how often the agent goes on before it drops what a stop hook asks: as often as the cap says."""
    try:
        count = int(cap)
    except ValueError:
        count = DEFAULT_CAP
    return count if count > 0 else None


def _continues_by_context(agent: str) -> bool:
    """Return whether a version, as in `claude-code_2-1-326_harness`, goes on if a stop hook adds context."""
    name, _, rest = agent.partition("_")
    version = rest.partition("_")[0].split("-")
    return name == "claude-code" and all(map(str.isdecimal, version)) and [*map(int, version)] >= FIRST_WITH_CONTEXT


def _plugin(installation: Installation, folder: str) -> str:
    site = installation.site
    manifest = {"name": "tildone", "description": "The plan your agents actually finish"}
    installation.write_json(os.path.join(folder, ".claude-plugin", "plugin.json"), manifest)
    installation.write_json(os.path.join(folder, ".mcp.json"), {"mcpServers": {"tildone": _server(site)}})
    hooks = {event: [{"hooks": [_hook(site)]}] for event in POINTS}
    installation.write_json(os.path.join(folder, "hooks", "hooks.json"), {"hooks": hooks})
    # The text names tildone, which marks the file as ours: it may be overwritten.
    installation.write_file(os.path.join(folder, "commands", "plan.md"), PLAN_COMMAND)
    return f"claude --plugin-dir {folder}"


INTEGRATION = Integration(
    name="claude",
    title="Claude Code",
    tried="2.1.197",
    listing=("mcp", "list"),
    # Hooks were told the name of their event from 1.0.41 on; the key that keeps a tool in every request is younger.
    min_versions={"gate": "1.0.41", "tools": "2.1.121"},
    folder=lambda site: os.path.join(site.home, ".claude"),
    configure=_configure,
    prompts={
        "project": (
            "whether you trust the files in this folder; hooks run only then",
            "whether to use the new MCP server found in .mcp.json",
        )
    },
    silencers=_silencers,
    plugin=_plugin,
    hooks=Hooks(
        points={
            **POINTS,
            "TaskCreated": HookPoint.TASK_CREATED,
            "TaskCompleted": HookPoint.TASK_COMPLETED,
            "StatusLine": HookPoint.STATUS_LINE,
        },
        fields=FIELDS,
        continue_reply=BLOCK,
        # With BLOCK, versions from 2.1.325 on tell the model the reason twice.
        later_reply=LaterReply(CONTEXT, "AI_AGENT", _continues_by_context),
        context_replies=dict.fromkeys(
            (HookPoint.SESSION_START, HookPoint.PROMPT, HookPoint.AFTER_TOOL, HookPoint.TOOL_FAILED), CONTEXT
        ),
        # With END_TURN alone, the pending tool call would still be carried out.
        halt_replies={
            HookPoint.BEFORE_TOOL: {**END_TURN, **DENY},
            HookPoint.AFTER_TOOL: END_TURN,
            HookPoint.TOOL_FAILED: END_TURN,
        },
        notice_reply=MESSAGE,
        starts_servers=True,
        attended_if=("CLAUDE_CODE_ENTRYPOINT", "cli"),
        conversation_variable=CONVERSATION_VARIABLE,
        project_variable="CLAUDE_PROJECT_DIR",
        continues_subagents=True,
        continuation_limit=ContinuationLimit(_continuations, CAP_VARIABLE, RAISED_CAP),
        # The end of a background task, such as a subagent, is a prompt.
        own_prompts=("<task-notification>",),
        # `/branch` writes the transcript first; `--fork-session` writes it later, and names nobody in it.
        fork_entry="forkedFrom.sessionId",
        fork_options=("--fork-session", "--resume", "-r"),
    ),
    list_tools={"TodoWrite": ("todos", "content")},
    task_tools={TaskAction.CREATE: "TaskCreate", TaskAction.UPDATE: "TaskUpdate", TaskAction.LIST: "TaskList"},
    notes={
        "native list": "`TaskCreate` and `TaskUpdate`; `TodoWrite` if `CLAUDE_CODE_ENABLE_TASKS=0` is set.",
        "status line": "Claude Code shows it only at a terminal; without one, the test runs the installed command.",
    },
)
