"""Checks a SQLite store while others use it."""

from __future__ import annotations

from tildone.stores.base import TIMEOUT_SECONDS
from tildone.stores.sqlite.file import SqliteFile
from tildone.stores.sqlite.health import findings
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.log.findings import Finding
    from tildone.log.store import ProgressCallback


def findings_in_file(path: str, progress: ProgressCallback | None) -> Iterator[Finding]:
    """Check one snapshot of a file on a connection of its own, and yield the findings."""
    file = SqliteFile(path, TIMEOUT_SECONDS, read_only=True)
    try:
        with file as connection:
            connection.execute("BEGIN")
            yield from findings(connection, path, progress)
    finally:
        file.close()
