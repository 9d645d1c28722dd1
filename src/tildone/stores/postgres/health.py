"""The integrity check of a store in a database."""

from __future__ import annotations

from itertools import islice

from tildone.errors import StoreError
from tildone.log import codec
from tildone.log.events import PlanChanged
from tildone.log.findings import Finding, Severity
from tildone.stores.postgres.names import from_sql, key
from tildone.stores.postgres.rows import key_or_none
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Rows = Callable[..., list[tuple[Any, ...]]]

MAX_FINDINGS = 20
"""How many errors are reported: with more, the remedy is the same."""

AT_ONCE = 1000
ABOUT_BYTES = 1_000_000

_REMEDY = "restore the database from a backup"
_UNSAFE = "what was acknowledged may be lost when the server's machine crashes: fsync or full_page_writes is off"
_SAFELY = "turn both on in postgresql.conf"
_READ_ONLY = "the database can be read, and not written"
_WRITABLE = "if it is a standby, name its primary instead"


@value
class StoredEvent:
    """A row of the table of events; `hanging` says that its parent was written before it."""

    session: str | None
    id: str
    parent: str | None
    at: int
    snapshot: bool
    hanging: bool
    body: str

    @property
    def name(self) -> str:
        """How messages name it."""
        of = "no session" if self.session is None else f"session {from_sql(self.session)!r}"
        return f"event {from_sql(self.id)!r} of {of}"


@value
class SessionSummary:
    """A row of the table of sessions: `found`, `dated` and `standing` compare it with its events."""

    name: str
    redo: str
    events: int
    found: int
    dated: bool
    standing: bool


def findings(rows: Rows) -> Iterator[Finding]:
    """Check a store; `rows` runs a query by name."""
    [(server, version, safe, read_only)] = rows("server")
    yield Finding(Severity.OK, f"PostgreSQL {server}, schema {version}")
    if not safe:
        yield Finding(Severity.WARNING, _UNSAFE, _SAFELY)
    if read_only:
        yield Finding(Severity.WARNING, _READ_ONLY, _WRITABLE)
    found = 0
    try:
        for flaw in islice(_integrity_errors(rows), MAX_FINDINGS + 1):
            found += 1
            yield Finding(Severity.ERROR, "there is more of that" if found > MAX_FINDINGS else flaw, _REMEDY)
    except StoreError as error:
        found += 1
        yield Finding(Severity.ERROR, f"the rest can't be read: {error}", _REMEDY)
    if not found:
        [(sessions, events)] = rows("totals")
        yield Finding(Severity.OK, f"{_count(sessions, 'session')} and {_count(events, 'event')}, all of them whole")


def _integrity_errors(rows: Rows) -> Iterator[str]:
    """Every inconsistency, as a sentence."""
    session = number = 0
    while some := rows("everything", session=session, number=number, most=AT_ONCE, bytes=ABOUT_BYTES):
        for _, _, *event in some:
            yield from _event_errors(StoredEvent(*event))
        session, number, *_ = some[-1]
    for said in rows("standing"):
        yield from _session_errors(rows, SessionSummary(*said))


def _event_errors(event: StoredEvent) -> Iterator[str]:
    """An event that cannot be decoded, or whose columns or parent do not match."""
    try:
        found = codec.decode(event.body)
    except codec.UndecodableEvent:
        yield f"{event.name} can't be read"
        return
    listed = key(found.id), key_or_none(found.parent), found.at, isinstance(found.fact, PlanChanged)
    if listed != (event.id, event.parent, event.at, event.snapshot):
        yield f"{event.name} does not match its columns"
    if event.session is None:
        yield f"{event.name} is there"
    if event.parent is not None and not event.hanging:
        yield f"{event.name} has parent {from_sql(event.parent)!r}, which is missing"


def _session_errors(rows: Rows, session: SessionSummary) -> Iterator[str]:
    """A session whose columns do not match its events."""
    name = f"session {from_sql(session.name)!r}"
    if session.found != session.events:
        yield f"{name} should have {_count(session.events, 'event')}, and {session.found:,} are there"
    elif not session.dated:
        yield f"{name} has wrong creation or update times"
    if not session.standing:
        yield f"{name} has a head that is missing"
    way = _redo_keys(session.redo)
    if way is None or (way and rows("known", session=session.name, ids=[*way]) != [(len(way),)]):
        yield f"{name} has a damaged redo list"


def _redo_keys(ahead: str) -> set[str] | None:
    """The keys of the redo list; None if it cannot be decoded."""
    try:
        way = codec.parse(ahead)
    except ValueError:
        return None
    readable = isinstance(way, list) and all(isinstance(step, str) for step in way)
    return {key(step) for step in way} if readable else None


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
