"""Creates the index of a store from the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tildone.app.opening import open_session
from tildone.config import Settings
from tildone.dialects.by_hand import BY_HAND
from tildone.ids import now
from tildone.log.needs import Need
from tildone.log.store import Store
from tildone.overview.index import SessionIndex


def open_index(settings: Settings, store: Store, more_needs: Callable[[], Iterable[Need]] = tuple) -> SessionIndex:
    """Return an index of all sessions of a store; it is empty until its first refresh.

    `more_needs` returns questions beside those of the store.
    """
    patience = open_session(settings, BY_HAND, store).patience
    return SessionIndex(store, settings.agents_dir, now=now, nudge_limit=patience.nudges, more_needs=more_needs)
