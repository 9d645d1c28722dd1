"""Zed, as its documentation describes it: it can't be run without a screen."""

import os

from tildone.agents.install import Installation
from tildone.agents.integrations import Integration


def _configure(installation: Installation) -> None:
    site = installation.site
    home = site.config_home if site.platform == "win32" else site.home
    file = os.path.join(home, ".config/zed/settings.json")
    file = file if site.for_user else os.path.join(site.project, ".zed", "settings.json")
    server = {"source": "custom", **site.mcp_server, "env": {}}
    installation.set_member(file, ("context_servers", "tildone"), server)


INTEGRATION = Integration(
    name="zed",
    title="Zed",
    folder=lambda site: os.path.join(site.home, ".config", "zed"),
    configure=_configure,
    notes={"held": "it has no hooks"},
)
