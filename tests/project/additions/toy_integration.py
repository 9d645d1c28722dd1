"""Toy, a coding agent that a test adds."""

from __future__ import annotations

import os

from tildone.agents.install import Installation
from tildone.agents.integrations import BLOCK, FIELDS, HookPoint, Hooks, Integration


def _configure(installation: Installation) -> None:
    file = os.path.join(installation.site.home, ".toy", "settings.json")
    installation.set_member(file, ("mcpServers", "tildone"), installation.site.mcp_server)


INTEGRATION = Integration(
    name="toy",
    title="Toy",
    folder=lambda site: os.path.join(site.home, ".toy"),
    configure=_configure,
    hooks=Hooks(
        points={"Halted": HookPoint.STOP}, fields=FIELDS, continue_reply=BLOCK, context_replies={}, halt_replies={}
    ),
)
