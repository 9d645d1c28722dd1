"""Reads what is new in the log of a plan."""

from __future__ import annotations

from itertools import islice

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.log.events import Event
    from tildone.log.store import Store

MAX_EVENTS = 1000
"""How many events back what is new is looked for, if the log was moved to another branch."""


class NewEvents:
    """The events of a session that were not read before, the oldest first.

    The first time, they are all events, in the order they were written; with `head`, those that follow it.
    """

    def __init__(self, store: Store, session: str, head: str | None = None) -> None:
        self._store, self._session = store, session
        self._head = head
        self._seen = {head} if head else set()

    def read(self) -> list[Event]:
        """Return what is new.

        Raises:
            StoreError: the store cannot be read.
        """
        head = self._store.session_head(self._session).head
        if head == self._head:
            return []
        if not self._seen:
            found = list(self._store.events(self._session))
        else:
            found = []
            for event in islice(self._store.history(self._session, head), MAX_EVENTS):
                if event.id in self._seen:
                    break
                found.append(event)
            found.reverse()
        self._seen |= {event.id for event in found}
        self._head = head
        return found
