"""Factory Droid 0.215, as its documentation and its program describe it: it can't be run without an account."""

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
    site = installation.site
    if site.mcp:
        file = site.at(".factory/mcp.json", ".factory/mcp.json")
        installation.set_member(file, ("mcpServers", "tildone"), {"type": "stdio", **site.mcp_server})
    if site.hooks:
        command = {"type": "command", "command": site.hook_command("droid"), "timeout": TIMEOUT_SECONDS}
        for event in POINTS:
            # In a file of its own, each event is a member; the program asks the settings only if there is none.
            file = site.at(".factory/hooks.json", ".factory/hooks.json")
            installation.add_item(file, (event,), {"hooks": [command]})


INTEGRATION = Integration(
    name="droid",
    title="Factory Droid",
    folder=lambda site: os.path.join(site.home, ".factory"),
    configure=_configure,
    hooks=Hooks(
        points=POINTS,
        fields=FIELDS,
        continue_reply=BLOCK,
        context_replies=dict.fromkeys((HookPoint.SESSION_START, HookPoint.PROMPT, HookPoint.AFTER_TOOL), CONTEXT),
        halt_replies={HookPoint.BEFORE_TOOL: {**END_TURN, **DENY}},
        notice_reply=MESSAGE,
        project_variable="FACTORY_PROJECT_DIR",
    ),
)
