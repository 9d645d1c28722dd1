"""The summary of a session, read from a SQLite file without opening a store.

A hook runs at every stop and tool call of every agent, and usually has nothing to say. The summary usually takes two
indexed reads, decodes no event and does not check the schema. Reading it never writes, and waits for a lock only
briefly. If the file cannot be read, or what is read does not match its checksum, the summary is None: the caller then
opens the store, which reports the error.
"""

from __future__ import annotations

from binascii import crc32

import apsw

from tildone.base import TYPE_CHECKING
from tildone.stores.summary import SessionSummary, summarize

if TYPE_CHECKING:
    from collections.abc import Iterator


LOCK_TIMEOUT_MS = 250


_PREFIX = 20
"""At most as many characters precede the id in the text of an event."""


_SELECT_HEADS = """
SELECT head, (SELECT head FROM seen WHERE session = sessions.name AND reader = ?),
    head_check = quote(name) || quote(head) || ahead
FROM sessions WHERE name = ?
"""


_HAS_EVENTS = "SELECT 1 FROM events WHERE session = ? LIMIT 1"


_SELECT_EVENT = "SELECT body, parent, crc FROM events WHERE session = ? AND id = ?"


def read_summary(path: str, session: str, reader: str = "") -> SessionSummary | None:
    """Return the summary of a session in the SQLite file at `path`, with the head that `reader` has seen.

    The result is None if the store has to be opened instead: it cannot be read, is damaged, or its schema is older.
    """
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(LOCK_TIMEOUT_MS)
        head, seen, matches = connection.execute(_SELECT_HEADS, (reader, session)).get or (None, None, None)
        if matches is None:
            return None if connection.execute(_HAS_EVENTS, (session,)).get else SessionSummary()
        if not matches:
            return None
        if head is None:
            return SessionSummary(seen=seen)
        return summarize(head, _newest_first(connection, session, head), seen)
    except (apsw.Error, UnicodeError, TypeError, _Damaged):
        return None


class _Damaged(Exception):
    """An event does not match its checksum or its ids."""


def _newest_first(connection: apsw.Connection, session: str, head: str) -> Iterator[str]:
    event: str | None = head
    while event is not None:
        body, parent, crc = connection.execute(_SELECT_EVENT, (session, event)).get
        # The codec writes them at the beginning. Ids that it escapes are not found here, and the store is opened.
        ids = f'"id":"{event}","parent":' + ("null" if parent is None else f'"{parent}"')
        if (crc is not None and crc32(body.encode()) != crc) or ids not in body[: len(ids) + _PREFIX]:
            raise _Damaged
        yield body
        event = parent
