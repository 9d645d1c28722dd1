"""What is done with a SQLite store as a whole: the check of a snapshot, and compaction."""

import os
from collections.abc import Iterator
from shutil import disk_usage

from tildone.base import StoreError
from tildone.log.kept import Finding
from tildone.log.store import ProgressCallback
from tildone.stores import TIMEOUT_SECONDS
from tildone.stores.sqlite import schema as queries
from tildone.stores.sqlite.file import SqliteFile
from tildone.stores.sqlite.health import findings


def findings_in_file(path: str, progress: ProgressCallback | None) -> Iterator[Finding]:
    file = SqliteFile(path, TIMEOUT_SECONDS, read_only=True)
    try:
        with file as connection:
            connection.execute("BEGIN")
            yield from findings(connection, path, progress)
    finally:
        file.close()


COMPACT_FROM_FRACTION = 10
"""The file is compacted when at least one in this many pages is unused."""


def compact(file: SqliteFile) -> int:
    """Return unused space to the file system if there is enough of it; return the number of bytes freed.

    Deletions that 10,000 changes have followed are forgotten: the change feed no longer tells them. Raises StoreError
    if the disk has no room for a temporary copy. The store is unchanged.
    """
    before = os.path.getsize(file.path)
    with file as connection:
        file.record_stamp_once()
        connection.execute(queries.FORGET_DELETIONS)
        unused, pages = (connection.execute(f"PRAGMA {what}").get for what in ("freelist_count", "page_count"))
        if unused * COMPACT_FROM_FRACTION < pages:
            return 0
        if disk_usage(os.path.dirname(file.path)).free < 2 * before:
            raise StoreError(f"not enough disk space to compact {file.path}")
        connection.execute("VACUUM")
    file.checkpoint()
    return max(0, before - os.path.getsize(file.path))
