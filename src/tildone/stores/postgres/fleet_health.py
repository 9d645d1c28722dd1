"""What workers need of a PostgreSQL server: encryption, rights, and a clock that agrees with theirs."""

from __future__ import annotations

from tildone.log.findings import Finding, Severity
from tildone.value import value

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
