"""What a PostgreSQL store asks of its server and reports of itself, for tests."""

from dataclasses import dataclass, field

import psycopg

from tildone.log.kept import Finding, Severity
from tildone.stores.postgres.store import PostgresStore


@dataclass(frozen=True, slots=True)
class Work:
    """The statements that a server executed, and how many rows they returned."""

    statements: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)


def setting_of(connection: psycopg.Connection, setting: str) -> object:
    [row] = connection.execute(f"SHOW {setting}".encode()).fetchall()
    return row[0]


def flaws(store: PostgresStore) -> list[Finding]:
    return [finding for finding in store.check() if finding.severity is not Severity.OK]
