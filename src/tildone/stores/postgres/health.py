"""The checks of a PostgreSQL store: what its server says of itself, and whether all that is stored is intact."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tildone.base import StoreError, value
from tildone.log.kept import Finding, Severity, counted, error_findings
from tildone.plan import codec
from tildone.plan.events import PlanChanged
from tildone.stores.postgres.rows import from_sql, key, key_or_none

Rows = Callable[..., list[tuple[Any, ...]]]


MAX_CLOCK_DIFFERENCE_MS = 5_000


@value
class ServerFacts:
    """What a server says of a connection; `clock` is its time in milliseconds since 1970."""

    encrypted: bool
    local: bool
    writable: bool
    standby: bool
    clock: int


def server_findings(server: ServerFacts, before: int, after: int) -> list[Finding]:
    """Return the findings about a server that told its time between two times of this machine."""
    found = [_encryption(server)]
    if server.standby:
        found.append(Finding(Severity.ERROR, "the server is a standby, which cannot be written to", "name the primary"))
    elif not server.writable:
        found.append(
            Finding(
                Severity.ERROR,
                "this role may not change the leases",
                "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tildone TO the role",
            )
        )
    else:
        found.append(Finding(Severity.OK, "this role may change the leases"))
    return [*found, _clock(server.clock - before if server.clock < before else max(0, server.clock - after))]


def _encryption(server: ServerFacts) -> Finding:
    if server.encrypted:
        return Finding(Severity.OK, "the connection is encrypted")
    if server.local:
        return Finding(Severity.OK, "the connection is not encrypted, and the server is on this machine")
    return Finding(
        Severity.WARNING,
        "the connection to another machine is not encrypted",
        "enable TLS on the server, and remove sslmode=disable from the address",
    )


def _clock(difference: int) -> Finding:
    if abs(difference) <= MAX_CLOCK_DIFFERENCE_MS:
        return Finding(
            Severity.OK, f"the clocks of the server and of this machine differ by {abs(difference) / 1000:g} s"
        )
    side = "ahead of" if difference > 0 else "behind"
    return Finding(
        Severity.WARNING,
        f"the clock of the server is {abs(difference) / 1000:g} s {side} that of this machine",
        "leases are measured by the server alone, but times in lists are wrong: set the clocks",
    )


BATCH_EVENTS = 1000
BATCH_BYTES = 1_000_000

_REMEDY = "restore the database from a backup"
_UNSAFE = "acknowledged changes may be lost if the server crashes: fsync or full_page_writes is off"
_MAKE_SAFE = "turn both on in postgresql.conf"
_READ_ONLY = "the database is read-only"
_MAKE_WRITABLE = "if it is a standby, use its primary instead"


@value
class StoredEvent:
    """A row of the table of events; `parent_precedes` is whether its parent was written before it."""

    session: str | None
    id: str
    parent: str | None
    at: int
    snapshot: bool
    parent_precedes: bool
    body: str

    @property
    def name(self) -> str:
        session = "no session" if self.session is None else f"session {from_sql(self.session)!r}"
        return f"event {from_sql(self.id)!r} of {session}"


@value
class StoredSession:
    """A row of the table of sessions, compared with its events.

    `found` is the number of its events, to be equal to `events`; `times_match` is whether the events confirm the times
    of creation and update, `head_exists` whether the head is one of them.
    """

    name: str
    redo: str
    events: int
    found: int
    times_match: bool
    head_exists: bool


def findings(rows: Rows) -> Iterator[Finding]:
    [(server, version, safe, read_only)] = rows("server")
    yield Finding(Severity.OK, f"PostgreSQL {server}, schema {version}")
    if not safe:
        yield Finding(Severity.WARNING, _UNSAFE, _MAKE_SAFE)
    if read_only:
        yield Finding(Severity.WARNING, _READ_ONLY, _MAKE_WRITABLE)
    yield from error_findings(_integrity_errors(rows), _REMEDY, StoreError, lambda: rows("totals")[0])


def _integrity_errors(rows: Rows) -> Iterator[str]:
    session = number = 0
    while batch := rows("all_events", session=session, number=number, limit=BATCH_EVENTS, bytes=BATCH_BYTES):
        for _, _, *event in batch:
            yield from _event_errors(StoredEvent(*event))
        session, number, *_ = batch[-1]
    for row in rows("session_states"):
        yield from _session_errors(rows, StoredSession(*row))


def _event_errors(event: StoredEvent) -> Iterator[str]:
    try:
        decoded = codec.decode(event.body)
    except codec.UndecodableEvent:
        yield f"{event.name} cannot be decoded"
        return
    columns = key(decoded.id), key_or_none(decoded.parent), decoded.at, isinstance(decoded.fact, PlanChanged)
    if columns != (event.id, event.parent, event.at, event.snapshot):
        yield f"{event.name} does not match its columns"
    if event.session is None:
        yield f"{event.name} exists"
    if event.parent is not None and not event.parent_precedes:
        yield f"{event.name} has parent {from_sql(event.parent)!r}, which is missing"


def _session_errors(rows: Rows, session: StoredSession) -> Iterator[str]:
    name = f"session {from_sql(session.name)!r}"
    if session.found != session.events:
        yield f"{name} should have {counted(session.events, 'event')}, but has {session.found:,}"
    elif not session.times_match:
        yield f"{name} has wrong creation or update times"
    if not session.head_exists:
        yield f"{name} has a head that is missing"
    keys = _redo_keys(session.redo)
    if keys is None or (keys and rows("count_known", session=session.name, ids=[*keys]) != [(len(keys),)]):
        yield f"{name} has a damaged redo list"


def _redo_keys(text: str) -> set[str] | None:
    try:
        redo = codec.parse_strictly(text)
    except ValueError:
        return None
    is_valid = isinstance(redo, list) and all(isinstance(event, str) for event in redo)
    return {key(event) for event in redo} if is_valid else None
