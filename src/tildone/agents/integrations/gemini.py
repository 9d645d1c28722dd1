"""Gemini CLI. Its hooks and settings were observed in the running program."""

import os

from tildone.agents.install import Inspection, Installation, Site
from tildone.agents.integrations import (
    CONTEXT,
    END_TURN,
    FIELDS,
    MESSAGE,
    TEXT,
    TIMEOUT_SECONDS,
    HookPoint,
    Hooks,
    Integration,
)

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
"""The trigger of a compression that a person asks for. With another one, Gemini CLI announces a compression before
every request, and carries it out only before a prompt and if the context is half full."""


def _configure(installation: Installation) -> None:
    site, timeout = installation.site, TIMEOUT_SECONDS * 1000
    file = _user_file(site) if site.for_user else os.path.join(site.project, ".gemini", "settings.json")
    if site.mcp:
        # The default timeout for a server that does not answer is ten minutes.
        server = {**site.mcp_server, "trust": True, "timeout": timeout}
        installation.set_member(file, ("mcpServers", "tildone"), server)
    if site.hooks:
        command = {"type": "command", "command": _hook_line(site), "name": "tildone", "timeout": timeout}
        for event, point in POINTS.items():
            matcher = {"matcher": MANUAL} if point is HookPoint.COMPACTION else {}
            installation.add_item(file, ("hooks", event), {**matcher, "hooks": [command]})
        installation.set_member(file, ("hooksConfig", "enabled"), entry=True, yields=True)


def _hook_line(site: Site) -> str:
    """Return the command line of our hooks, which succeeds even if the program cannot be started.

    Gemini CLI refuses to run the agent if a hook ends with an exit code other than 0 or 1, such as that of a shell that
    does not find the program. At the time limit it kills only the process it started, and waits until the output is
    closed, so the program has to replace the shell. Gemini CLI runs the line in bash, which continues after a failed
    `exec` if it is told to; other shells end with an error.
    """
    line = site.hook_command("gemini")
    return line if site.platform == "win32" else f"shopt -s execfail 2>/dev/null; exec {line}; exit 0"


def _user_file(site: Site) -> str:
    return os.path.join(site.environ.get("GEMINI_CLI_HOME") or site.home, ".gemini", "settings.json")


def _silencers(inspection: Inspection) -> None:
    site = inspection.site
    user = _user_file(site)
    files = [user, os.path.join(site.project, ".gemini", "settings.json")]
    enabled, file = inspection.last(files, "hooksConfig", "enabled")
    if enabled is False:
        inspection.silenced(f"hooks are disabled in {file}", "set hooksConfig.enabled to true there")
    file = inspection.lists(files, "tildone", "hooksConfig", "disabled")
    if file:
        inspection.silenced(f"our hooks are disabled in {file}", "enable them in Gemini CLI: /hooks enable tildone")
    file = inspection.lists(files, "tildone", "mcp", "excluded")
    if file:
        inspection.silenced(f"the server is excluded in {file}", "remove tildone from mcp.excluded there")
    allowed, file = inspection.last(files, "mcp", "allowed")
    if isinstance(allowed, list) and "tildone" not in allowed:
        inspection.silenced(f"{file} allows other MCP servers only", "add tildone to mcp.allowed there")
    trust = os.path.join(os.path.dirname(user), "trustedFolders.json")
    folders = inspection.get(site.environ.get("GEMINI_CLI_TRUSTED_FOLDERS_PATH") or trust)
    if inspection.nearest(folders) == "DO_NOT_TRUST":
        inspection.silenced("Gemini CLI does not trust this folder", "trust it in Gemini CLI: /permissions trust")


INTEGRATION = Integration(
    name="gemini",
    title="Gemini CLI",
    tried="0.61.0",
    listing=("mcp", "list"),
    min_versions={"gate": "0.26.0"},
    folder=lambda site: os.path.dirname(_user_file(site)),
    configure=_configure,
    prompts={"project": ("whether you trust this folder; the settings of a project count only then",)},
    silencers=_silencers,
    hooks=Hooks(
        points=POINTS,
        fields={**FIELDS, "last_message": "prompt_response"},
        continue_reply={"decision": "deny", "reason": TEXT},
        # When a session is resumed, context added at its start is lost together with the prompt.
        context_replies={HookPoint.PROMPT: CONTEXT, HookPoint.AFTER_TOOL: CONTEXT},
        halt_replies={HookPoint.BEFORE_TOOL: END_TURN, HookPoint.AFTER_TOOL: END_TURN},
        notice_reply=MESSAGE,
        starts_servers=True,
        shows_stderr=True,
        conversation_variable="GEMINI_SESSION_ID",
        project_variable="GEMINI_PROJECT_DIR",
        compaction_trigger=MANUAL,
        cumulative_messages=True,
    ),
    list_tools={"write_todos": ("todos", "description")},
    notes={
        "native list": "`write_todos`.",
        "subagents": "Its hooks do not tell a subagent from the agent that started it: both work on one plan.",
        "fork": "Gemini CLI forks no conversation: `/chat resume` continues it under its id.",
        "status line": "Gemini CLI lets no program write to its status line.",
    },
)
