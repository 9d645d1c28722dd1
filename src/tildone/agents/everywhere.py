"""The agents at work in all projects of this machine."""

from __future__ import annotations

import os

from tildone.agents.registry import AgentRegistry
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.agents.registry import Agent


def active_everywhere(folder: str, now: int) -> Iterator[Agent]:
    """Yield the agents that are active, with subagents, from the folder that the registries of all projects share."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        # A registry's folder is named after a digest of its project, and the project is not needed to read it.
        registry = AgentRegistry(folder, "")
        registry.folder = os.path.join(folder, name)
        yield from (agent for agent in registry.live(now) if agent.is_active(now))
