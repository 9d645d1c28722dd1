"""The summary of a session, read from a SQLite file without opening a store.

A hook runs at every stop and tool call of every agent, and usually has nothing to say. The summary usually takes two
indexed reads, decodes no event and does not check the schema. Reading it never writes, and waits for a lock only
briefly. If the file cannot be read, the summary is None: the caller then opens the store, which reports the error.
"""

from __future__ import annotations

import apsw

from tildone.log.summary import SessionSummary, summarize
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK_TIMEOUT_MS = 250

_SELECT_HEADS = """
SELECT head, (SELECT head FROM seen WHERE session = sessions.name AND reader = ?) FROM sessions WHERE name = ?
"""
_SELECT_EVENT = "SELECT body, parent FROM events WHERE session = ? AND id = ?"


def read_summary(path: str, session: str, reader: str = "") -> SessionSummary | None:
    """Return the summary of a session in the SQLite file at `path`, with the head that `reader` has seen.

    The result is None if the store has to be opened instead: it cannot be read, or its schema is older.
    """
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(LOCK_TIMEOUT_MS)
        head, seen = connection.execute(_SELECT_HEADS, (reader, session)).get or (None, None)
        if head is None:
            return SessionSummary(seen=seen)
        return summarize(head, _newest_first(connection, session, head), seen)
    except (apsw.Error, UnicodeEncodeError, TypeError):
        return None


def _newest_first(connection: apsw.Connection, session: str, head: str) -> Iterator[str]:
    event: str | None = head
    while event is not None:
        body, event = connection.execute(_SELECT_EVENT, (session, event)).get
        yield body
