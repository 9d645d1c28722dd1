"""The summary of a session from the JSON text of its events, without decoding them or opening a store.

The codec writes no white space between tokens and escapes every quotation mark inside a string. Therefore,
`"status":"pending"` occurs in an event if and only if one of its tasks is pending, regardless of the texts, and a
substring search can replace decoding. Hooks depend on this: importing the codec takes longer than everything else in a
hook that has nothing to say. `tests/log/test_state.py` checks the markers and the summaries against the codec.

From a SQLite file, a summary usually takes two indexed reads, and the schema is not checked. Reading never writes, and
waits for a lock only briefly. If the file cannot be read, or what is read does not match its checksum, there is no
summary: the caller then opens the store, which reports the error.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import apsw


PLAN_CHANGED = '"fact":"plan_changed"'
DIRECTIVE_SET = ('"fact":"directive_set"', '"fact":"steered"')
NUDGED = '"fact":"nudged"'
TRIPPED = '"fact":"tripped"'
PENDING = '"status":"pending"'
IN_PROGRESS = '"status":"in_progress"'
BLOCKED = '"status":"blocked"'
CHECK = '"check":{'
DIRECTIVE = ('"directive":"', '"course":"')
"""The key, and the one of older stores; the fact that sets it has two names, too."""
CONTINUED = '"ledger":{"continued":'

GO, STOP = "go", "stop"
"""The values of two members of `Directive`. The codec omits GO."""

MAX_EVENTS = 200
"""How many events, newest first, are searched for the plan."""


@value
class SessionSummary:
    """A session at its head: whether a task can be worked on, whether one is blocked, and the person's directive.

    `continued` means that the agent was told to go on since a person last spoke. `seen` is the head that the agent's
    model has seen. `checked` means that a task or the plan has a check.
    """

    head: str | None = None
    workable: bool = False
    blocked: bool = False
    directive: str = GO
    continued: bool = False
    seen: str | None = None
    checked: bool = False


def summarize(head: str, newest_first: Iterable[str], seen: str | None = None) -> SessionSummary | None:
    """Summarize a session from the JSON texts of its events, from `head` to the root.

    Only as many texts are read as necessary. The result is None if none of the first MAX_EVENTS has a plan.
    """
    directive, continued = "", False
    for count, event in enumerate(newest_first):
        if count == MAX_EVENTS:
            return None
        continued = continued or (not directive and (NUDGED in event or TRIPPED in event or CONTINUED in event))
        if not directive and (PLAN_CHANGED in event or any(marker in event for marker in DIRECTIVE_SET)):
            directive = next((event.partition(key)[2].partition('"')[0] for key in DIRECTIVE if key in event), GO)
        if PLAN_CHANGED in event:
            workable = PENDING in event or IN_PROGRESS in event
            return SessionSummary(head, workable, BLOCKED in event, directive, continued, seen, CHECK in event)
    return SessionSummary(head, directive=directive or GO, continued=continued, seen=seen)


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
    # Late, because there may be no file to read.
    import apsw

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
    from binascii import crc32

    event: str | None = head
    while event is not None:
        body, parent, crc = connection.execute(_SELECT_EVENT, (session, event)).get
        # The codec writes them at the beginning. Ids that it escapes are not found here, and the store is opened.
        ids = f'"id":"{event}","parent":' + ("null" if parent is None else f'"{parent}"')
        if (crc is not None and crc32(body.encode()) != crc) or ids not in body[: len(ids) + _PREFIX]:
            raise _Damaged
        yield body
        event = parent
