"""Creates the index of a store from the settings."""

from __future__ import annotations

from tildone.config import Settings
from tildone.dialects.by_hand import BY_HAND
from tildone.ids import now
from tildone.log.store import Store
from tildone.overview.index import SessionIndex
from tildone.wiring import open_session


def open_index(settings: Settings, store: Store) -> SessionIndex:
    """Return an index of all sessions of a store; it is empty until its first refresh."""
    patience = open_session(settings, BY_HAND, store).patience
    return SessionIndex(store, settings.agents_dir, now=now, nudge_limit=patience.nudges)
