"""Junie, as its documentation describes it: its hooks are in early access, and can't be tried without an account."""

import os

from tildone.agents.install import Installation
from tildone.agents.integrations import Integration


def _configure(installation: Installation) -> None:
    site = installation.site
    file = site.at(".junie/mcp/mcp.json", ".junie/mcp/mcp.json")
    installation.set_member(file, ("mcpServers", "tildone"), site.mcp_server)


INTEGRATION = Integration(
    name="junie",
    title="Junie",
    folder=lambda site: os.path.join(site.home, ".junie"),
    configure=_configure,
    notes={"held": "its hooks are in early access"},
)
