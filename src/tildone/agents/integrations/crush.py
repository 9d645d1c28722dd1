"""Crush, as its documentation describes it: its only hook comes before a tool call."""

import os

from tildone.agents.install import Installation
from tildone.agents.integrations import Integration


def _configure(installation: Installation) -> None:
    site = installation.site
    file = site.at(".config/crush/crush.json", "crush.json")
    installation.set_member(file, ("mcp", "tildone"), {"type": "stdio", **site.mcp_server})


INTEGRATION = Integration(
    name="crush",
    title="Crush",
    folder=lambda site: os.path.join(site.home, ".config", "crush"),
    configure=_configure,
    notes={"held": "its only hook comes before a tool call"},
)
