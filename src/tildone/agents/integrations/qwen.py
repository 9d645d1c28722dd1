"""Qwen Code, as its documentation describes it: it can't be run without an account.

That it accepts END_TURN after a tool call, as Claude Code does, is an assumption.
"""

import os

from tildone.agents.install import Installation
from tildone.agents.integrations import (
    BLOCK,
    CONTEXT,
    DENY,
    END_TURN,
    FIELDS,
    MESSAGE,
    POINTS,
    TIMEOUT_SECONDS,
    HookPoint,
    Hooks,
    Integration,
)


def _configure(installation: Installation) -> None:
    site, timeout = installation.site, TIMEOUT_SECONDS * 1000
    file = site.at(".qwen/settings.json", ".qwen/settings.json")
    if site.mcp:
        # The default timeout for a server that does not answer is ten minutes.
        server = {**site.mcp_server, "trust": True, "timeout": timeout}
        installation.set_member(file, ("mcpServers", "tildone"), server)
    if site.hooks:
        command = {"type": "command", "command": site.hook_command("qwen"), "name": "tildone", "timeout": timeout}
        for event in POINTS:
            installation.add_item(file, ("hooks", event), {"hooks": [command]})


INTEGRATION = Integration(
    name="qwen",
    title="Qwen Code",
    folder=lambda site: os.path.join(site.home, ".qwen"),
    configure=_configure,
    prompts={"project": ("whether you trust this folder; the settings of a project count only then",)},
    hooks=Hooks(
        points=POINTS,
        fields=FIELDS,
        continue_reply=BLOCK,
        context_replies={HookPoint.SESSION_START: CONTEXT, HookPoint.PROMPT: CONTEXT},
        halt_replies={HookPoint.BEFORE_TOOL: {**END_TURN, **DENY}, HookPoint.AFTER_TOOL: END_TURN},
        notice_reply=MESSAGE,
        project_variable="QWEN_PROJECT_DIR",
    ),
    list_tools={"todo_write": ("todos", "content")},
)
