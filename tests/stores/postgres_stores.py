"""PostgreSQL stores as tests need them: with their statements, of older schemas, and for users with few rights."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg
import pytest

from tests.stores.postgres import execute
from tildone.log.kept import Finding, Severity
from tildone.stores.postgres import connections
from tildone.stores.postgres.rows import migrations
from tildone.stores.postgres.store import PostgresStore

Connect = Callable[..., PostgresStore]
"""Opens a store, which is closed at the end of the test."""


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements that a server executed, and how many rows they returned."""

    statements: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)


def setting_of(connection: psycopg.Connection, setting: str) -> object:
    [row] = connection.execute(f"SHOW {setting}".encode()).fetchall()
    return row[0]


def flaws(store: PostgresStore) -> list[Finding]:
    return [finding for finding in store.check() if finding.severity is not Severity.OK]


@contextmanager
def older_tildone(version: int) -> Iterator[None]:
    """Let stores that are opened in the block be of an older tildone, whose schema has that version."""
    with pytest.MonkeyPatch.context() as before:
        before.setattr(connections, "migrations", lambda: migrations()[:version])
        yield


USE_OF_ALL_TABLES = (
    "GRANT USAGE ON SCHEMA tildone TO guest",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tildone TO guest",
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA tildone TO guest",
)


@contextmanager
def guest(url: str, *statements: str, options: str = "") -> Iterator[str]:
    """Create the user `guest`, and provide the URL with that name."""
    try:
        execute(url, f"CREATE ROLE guest LOGIN {options}", *statements)
        yield url.replace("postgres@", "guest@")
    finally:
        execute(url, "DROP OWNED BY guest", "DROP ROLE guest")
