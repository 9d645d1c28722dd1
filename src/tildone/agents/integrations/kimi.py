"""Kimi Code, whose hooks and settings were observed in the running program.

It continues a turn once, sends no last message with a stop, and ignores what a hook replies to the start of a session
or after a tool call.
"""

import os

from tildone.agents.install import Installation, Site
from tildone.agents.integrations import (
    DENY,
    FIELDS,
    SUBAGENT_POINTS,
    TEXT,
    TIMEOUT_SECONDS,
    HookPoint,
    Hooks,
    Integration,
)

POINTS = {event: point for event, point in SUBAGENT_POINTS.items() if event != "SubagentStop"}


def _configure(installation: Installation) -> None:
    site, folder = installation.site, _folder(installation.site)
    if site.mcp:
        project = os.path.join(site.project, ".kimi-code", "mcp.json")
        file = os.path.join(folder, "mcp.json") if site.for_user else project
        installation.set_member(file, ("mcpServers", "tildone"), site.mcp_server)
    if site.hooks and site.for_user:
        for event in POINTS:
            hook = {"event": event, "command": site.hook_command("kimi"), "timeout": TIMEOUT_SECONDS}
            installation.add_item(os.path.join(folder, "config.toml"), ("hooks",), hook)


def _folder(site: Site) -> str:
    return site.environ.get("KIMI_CODE_HOME") or os.path.join(site.home, ".kimi-code")


INTEGRATION = Integration(
    name="kimi",
    title="Kimi Code",
    tried="2.1.0",
    folder=_folder,
    configure=_configure,
    hooks=Hooks(
        points=POINTS,
        fields={**FIELDS, "prompt": "prompt.0.text prompt", "call": "tool_call_id", "tool_response": "tool_output"},
        continue_reply=DENY,
        context_replies={HookPoint.PROMPT: {"message": TEXT}},
        halt_replies={HookPoint.BEFORE_TOOL: DENY},
        starts_servers=True,
    ),
    list_tools={"TodoList": ("todos", "title")},
    notes={"held": "once in a turn"},
)
