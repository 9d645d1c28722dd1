"""The summary of a session, read from a SQLite file without opening a store.

Hooks ask at every stop and tool call of every agent whether there is anything to say; mostly there is not. The summary
takes two indexed reads in the usual case, decodes no event and does not check the schema. It never writes, and waits
for a lock only briefly. It is None where the file can't be read: then the caller opens the store, which also reports
what is wrong with it.
"""

from __future__ import annotations

import apsw

from tildone.log.summary import SessionSummary, summarize
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK_TIMEOUT_MS = 250

_SELECT_HEAD = "SELECT head FROM sessions WHERE name = ?"
_SELECT_EVENT = "SELECT body, parent FROM events WHERE session = ? AND id = ?"


def read_summary(path: str, session: str) -> SessionSummary | None:
    """The summary of a session in the SQLite file at `path`; None where only opening the store can tell."""
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(LOCK_TIMEOUT_MS)
        head = connection.execute(_SELECT_HEAD, (session,)).get
        return SessionSummary() if head is None else summarize(head, _newest_first(connection, session, head))
    except (apsw.Error, UnicodeEncodeError, TypeError):
        return None


def _newest_first(connection: apsw.Connection, session: str, head: str) -> Iterator[str]:
    event: str | None = head
    while event is not None:
        body, event = connection.execute(_SELECT_EVENT, (session, event)).get
        yield body
