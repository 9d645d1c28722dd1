"""The leases of a store, and how the events about them are made."""

from __future__ import annotations

from tildone.errors import UsageError
from tildone.log.events import Author
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.log.fleet.port import RunLeases
    from tildone.log.store import Store


@value
class Scribe:
    """How events are made: `now` returns milliseconds since 1970, `new_id` an unused id."""

    new_id: Callable[[], str]
    now: Callable[[], int]
    author: Author = Author()


def leases_of(store: Store, scribe: Scribe) -> RunLeases:
    """Return the leases of runs in a store.

    Raises:
        UsageError: the store has none.
    """
    leases: Callable[[Scribe], RunLeases] | None = getattr(store, "leases", None)
    if leases is None:
        raise UsageError("a fleet needs a store in a SQLite file or in a PostgreSQL database")
    return leases(scribe)
