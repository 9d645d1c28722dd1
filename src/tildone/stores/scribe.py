"""The leases of a store, and how the events about them are made."""

from __future__ import annotations

from tildone.errors import UsageError
from tildone.log.events import Author
from tildone.log.fleet.workers import BadRow
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from tildone.log.fleet.port import RunLeases
    from tildone.log.store import Store

    T = TypeVar("T")


def unheard(_row: BadRow) -> None:
    """Tell nobody of a row."""


@value
class Scribe:
    """How events are made: `now` returns milliseconds since 1970, `new_id` an unused id.

    `on_bad_row` is told of each row that is passed over, at each time.
    """

    new_id: Callable[[], str]
    now: Callable[[], int]
    author: Author = Author()
    on_bad_row: Callable[[BadRow], object] = unheard

    def good(self, rows: Iterable[T | BadRow]) -> list[T]:
        """Return what is not a bad row, and tell of the others."""
        found: list[T] = []
        for row in rows:
            if isinstance(row, BadRow):
                self.on_bad_row(row)
            else:
                found.append(row)
        return found


READER = Scribe(str, int)
"""For those who only read."""


def leases_of(store: Store, scribe: Scribe) -> RunLeases:
    """Return the leases of runs in a store.

    Raises:
        UsageError: the store has none.
    """
    leases: Callable[[Scribe], RunLeases] | None = getattr(store, "leases", None)
    if leases is None:
        raise UsageError("a fleet needs a store in a SQLite file or in a PostgreSQL database")
    return leases(scribe)
