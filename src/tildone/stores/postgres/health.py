"""The checks of a PostgreSQL store: what its server says of itself, and whether all that is stored is intact."""

from collections.abc import Callable, Iterator
from typing import Any

from tildone.base import StoreError
from tildone.log.kept import Finding, Severity, counted, error_findings
from tildone.plan import codec
from tildone.plan.events import PlanChanged
from tildone.stores.leasing import texts_in
from tildone.stores.postgres.rows import from_sql, key, key_or_none

Rows = Callable[..., list[tuple[Any, ...]]]


MAX_CLOCK_DIFFERENCE_MS = 5_000


def server_findings(server: tuple[bool, bool, bool, bool, int], before: int, after: int) -> list[Finding]:
    """Return the findings about a server that told its time between two times of this machine."""
    encrypted, local, writable, standby, clock = server
    found = [_encryption(encrypted=encrypted, local=local)]
    if standby:
        found.append(Finding(Severity.ERROR, "the server is a standby, which cannot be written to", "name the primary"))
    elif not writable:
        found.append(
            Finding(
                Severity.ERROR,
                "this role may not change the leases",
                "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tildone TO the role",
            )
        )
    else:
        found.append(Finding(Severity.OK, "this role may change the leases"))
    return [*found, _clock(clock - before if clock < before else max(0, clock - after))]


def _encryption(*, encrypted: bool, local: bool) -> Finding:
    if encrypted:
        return Finding(Severity.OK, "the connection is encrypted")
    if local:
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
        for row in batch:
            yield from _event_errors(row[2:])
        session, number, *_ = batch[-1]
    for row in rows("session_states"):
        yield from _session_errors(rows, row)


def _event_errors(row: tuple[Any, ...]) -> Iterator[str]:
    session, event, parent, at, snapshot, parent_precedes, body = row
    name = f"event {from_sql(event)!r} of {'no session' if session is None else f'session {from_sql(session)!r}'}"
    try:
        decoded = codec.decode(body)
    except codec.UndecodableEvent:
        yield f"{name} cannot be decoded"
        return
    columns = key(decoded.id), key_or_none(decoded.parent), decoded.at, isinstance(decoded.fact, PlanChanged)
    if columns != (event, parent, at, snapshot):
        yield f"{name} does not match its columns"
    if session is None:
        yield f"{name} exists"
    if parent is not None and not parent_precedes:
        yield f"{name} has parent {from_sql(parent)!r}, which is missing"


def _session_errors(rows: Rows, row: tuple[Any, ...]) -> Iterator[str]:
    """Compare a session with what its events confirm."""
    session, redo, events, found, times_match, head_exists = row
    name = f"session {from_sql(session)!r}"
    if found != events:
        yield f"{name} should have {counted(events, 'event')}, but has {found:,}"
    elif not times_match:
        yield f"{name} has wrong creation or update times"
    if not head_exists:
        yield f"{name} has a head that is missing"
    try:
        keys = {key(event) for event in texts_in(redo)}
    except ValueError:
        keys = None
    if keys is None or (keys and rows("count_known", session=session, ids=[*keys]) != [(len(keys),)]):
        yield f"{name} has a damaged redo list"
