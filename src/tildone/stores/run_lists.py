"""Finds what reads the leases of a store in parts."""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.log.fleet.workers import RunLists
    from tildone.log.store import Store


def lists_of(store: Store) -> RunLists | None:
    """Return the leases of runs in a store, to be read in parts; None if the store cannot have any."""
    lists: Callable[[], RunLists] | None = getattr(store, "run_lists", None)
    return lists() if lists else None
