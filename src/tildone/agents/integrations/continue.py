# ruff: noqa: N999  the registry imports modules by their names, for which a keyword will do
"""Continue in editors, as its documentation and its program describe it: it can't be run without a screen.

Its program in the terminal, `cn` 1.5, reads servers from `config.yaml` only. It knows events of hooks, but calls none.
"""

import os

from tildone.agents.install import Installation
from tildone.agents.integrations import Integration


def _configure(installation: Installation) -> None:
    site = installation.site
    file = site.at(".continue/mcpServers/tildone.json", ".continue/mcpServers/tildone.json")
    installation.set_member(file, ("mcpServers", "tildone"), site.mcp_server)


INTEGRATION = Integration(
    name="continue",
    title="Continue",
    folder=lambda site: os.path.join(site.home, ".continue"),
    configure=_configure,
    after_install="For cn, name the server in config.yaml, too: its command is tildone mcp.",
    notes={"held": "it calls no hooks"},
)
