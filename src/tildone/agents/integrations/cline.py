"""Cline 3.0 in the terminal. None of its hooks can make an agent continue."""

import os

from tildone.agents.install import Installation
from tildone.agents.integrations import Integration


def _configure(installation: Installation) -> None:
    site = installation.site
    if site.for_user:
        file = os.path.join(site.home, ".cline", "data", "settings", "cline_mcp_settings.json")
        installation.set_member(file, ("mcpServers", "tildone"), site.mcp_server)


INTEGRATION = Integration(
    name="cline",
    title="Cline",
    folder=lambda site: os.path.join(site.home, ".cline"),
    configure=_configure,
    notes={"held": "none of its hooks makes an agent continue"},
)
