"""Claude Desktop, as its documentation describes it: it can't be run without a screen."""

import os

from tildone.agents.install import Installation
from tildone.agents.integrations import Integration
from tildone.base import UsageError


def _configure(installation: Installation) -> None:
    site = installation.site
    if not site.for_user:
        raise UsageError("Claude Desktop has no project settings: leave out --scope project")
    file = os.path.join(site.config_home, "Claude", "claude_desktop_config.json")
    installation.set_member(file, ("mcpServers", "tildone"), site.mcp_server)


INTEGRATION = Integration(
    name="claude-desktop",
    title="Claude Desktop",
    folder=lambda site: os.path.join(site.config_home, "Claude"),
    configure=_configure,
    notes={"held": "it has no hooks"},
)
