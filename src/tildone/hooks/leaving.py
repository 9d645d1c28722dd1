"""The end of a session: the store is told that the agent is no longer there."""

from __future__ import annotations

import os

from tildone.app.opening import open_store
from tildone.errors import StoreError
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.agents.identity import AgentId
    from tildone.config import Settings

STORE_TIMEOUT_SECONDS = 0.5
"""How long the end of a session waits for a store that other processes are writing to."""


def leave(settings: Settings, agent_id: AgentId, session: str | None) -> None:
    """Remove the presence of an agent, and its claims in a session, if one is named.

    A store that does not exist is not created for it, and failure is harmless.
    """
    path = settings.store.path
    if path is not None and not os.path.exists(path):
        return
    try:
        store = open_store(settings, timeout=STORE_TIMEOUT_SECONDS)
        if session is not None:
            store.records.release(session, str(agent_id))
        store.records.leave(str(agent_id))
    except StoreError:
        return
