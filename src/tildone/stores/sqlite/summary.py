"""A summary of a session, read from the SQLite file without opening a store.

Hooks ask at every stop and tool call of every agent whether there is anything to say; mostly there is not. The summary
takes two indexed reads in the usual case, parses no event and does not check the schema. It never writes, and waits
for a lock only briefly. It is None where the file can't be read or the plan is too many events back: then the caller
opens the store, which also reports what is wrong with it.
"""

from __future__ import annotations

import os

from tildone.log.json_markers import (
    BLOCKED,
    DIRECTIVE_SET,
    GO,
    IN_PROGRESS,
    PENDING,
    PLAN_CHANGED,
    TRIPPED,
    directive_in,
)
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    import apsw

MAX_EVENTS = 200
"""How many events are read, newest first, in search of the plan."""

LOCK_TIMEOUT_MS = 250

_SELECT_HEAD = "SELECT head FROM sessions WHERE name = ?"
_SELECT_EVENT = "SELECT body, parent FROM events WHERE session = ? AND id = ?"


@value
class SessionSummary:
    """A session at its head: whether a task can be worked on, whether one is blocked, and the person's directive.

    `tripped` says that a bound ended the chain of nudges, and that neither a directive nor a change followed.
    """

    head: str | None = None
    workable: bool = False
    blocked: bool = False
    directive: str = GO
    tripped: bool = False


def summarize(path: str, session: str) -> SessionSummary | None:
    """The summary of a session in the SQLite file at `path`; None where only opening the store can tell."""
    if not os.path.exists(path):
        return SessionSummary()
    # Late, because there may be no file to open.
    import apsw  # noqa: PLC0415  see above

    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(LOCK_TIMEOUT_MS)
        head = connection.execute(_SELECT_HEAD, (session,)).get
        return SessionSummary() if head is None else _summarize_from(connection, session, head)
    except (apsw.Error, UnicodeEncodeError, TypeError):
        return None


def _summarize_from(connection: apsw.Connection, session: str, head: str) -> SessionSummary | None:
    """Read events from the head towards the root, up to the newest plan."""
    directive, event, tripped = "", head, False
    for _ in range(MAX_EVENTS):
        body, parent = connection.execute(_SELECT_EVENT, (session, event)).get
        tripped = tripped or (TRIPPED in body and not directive)
        if (DIRECTIVE_SET in body or PLAN_CHANGED in body) and not directive:
            directive = directive_in(body)
        if PLAN_CHANGED in body:
            workable = PENDING in body or IN_PROGRESS in body
            return SessionSummary(head, workable, BLOCKED in body, directive, tripped)
        if parent is None:
            return SessionSummary(head, directive=directive or GO, tripped=tripped)
        event = parent
    return None
