"""VS Code, as its documentation of October 2026 describes it: it can't be run without a screen.

Its agent runs the hooks of Copilot CLI or Claude Code, from their files.
"""

import os

from tildone.agents.install import Installation
from tildone.agents.integrations import Integration


def _configure(installation: Installation) -> None:
    site = installation.site
    file = os.path.join(site.config_home, "Code", "User", "mcp.json")
    file = file if site.for_user else os.path.join(site.project, ".vscode", "mcp.json")
    installation.set_member(file, ("servers", "tildone"), {"type": "stdio", **site.mcp_server})


INTEGRATION = Integration(
    name="vscode",
    title="VS Code",
    folder=lambda site: os.path.join(site.config_home, "Code"),
    configure=_configure,
    after_install="Its agent is held to the plan by the hooks of Copilot CLI: tildone install copilot.",
    prompts=dict.fromkeys(
        ("user", "project"), ("whether you trust the MCP server, when it starts for the first time",)
    ),
    notes={"held": "its agent runs the hooks of Copilot CLI and Claude Code"},
)
