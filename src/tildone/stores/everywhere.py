"""The agents at work in all projects of this machine."""

from __future__ import annotations

import os

from tildone.base import TYPE_CHECKING
from tildone.stores.agents import AgentRegistry
from tildone.stores.live import FOLDER as MARKERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.stores.agents import Agent


def active_everywhere(folder: str, now: int, *, marked_only: bool = False) -> Iterator[Agent]:
    """Yield the agents that are active, with subagents, from the folder that the registries of all projects share.

    With `marked_only`, what is no registry of this version is left alone: the folder may be somebody else's.
    """
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        # A registry's folder is named after a digest of its project, and the project is not needed to read it.
        registry = AgentRegistry(folder, "")
        registry.folder = os.path.join(folder, name)
        if marked_only and not os.path.isdir(os.path.join(registry.folder, MARKERS)):
            continue
        yield from (agent for agent in registry.live(now) if agent.is_active(now))
