"""Amp, as its documentation describes it: it has no hooks, and can't be run without an account."""

import os

from tildone.agents.install import Installation
from tildone.agents.integrations import Integration


def _configure(installation: Installation) -> None:
    site = installation.site
    file = site.at(".config/amp/settings.json", ".amp/settings.json")
    installation.set_member(file, ("amp.mcpServers", "tildone"), site.mcp_server)


INTEGRATION = Integration(
    name="amp",
    title="Amp",
    folder=lambda site: os.path.join(site.home, ".config", "amp"),
    configure=_configure,
    notes={"held": "it has no hooks"},
)
