"""The store in one SQLite file.

    store.py    the store: the log
    records.py  what is kept beside the log: presences, questions, claims, summaries
    leases.py   the leases of runs, and their statements
    file.py     the open file: connection, write-ahead log, detection of a replaced or overwritten file
    schema.py   every other SQL statement, recognising and migrating a file (`migrations/*.sql`), driver errors
    rows.py     rows as values, compared with their checksums, and new rows
    health.py   the integrity check
    upkeep.py   the check of a snapshot, unused space; backup.py: stores as single plain files

Hooks read a summary of a session without importing this package: `tildone.stores.summary`.
"""

from __future__ import annotations

import os

from tildone.base import TYPE_CHECKING
from tildone.stores import OpenOptions, StoreAddress, StoreKind

if TYPE_CHECKING:
    from tildone.log.store import Store

SUFFIXES = ("", "-wal", "-shm", "-journal")
"""Suffixes of a store's path that give the files SQLite uses for it."""


def _open(address: StoreAddress, options: OpenOptions) -> Store:
    # Late, so that nothing is loaded for a store of another kind.
    from tildone.stores.sqlite.store import SqliteStore

    return SqliteStore(address.location, timeout=options.timeout, read_only=options.read_only, fence=options.fence)


def _is_replaceable(address: StoreAddress) -> bool:
    # Late, because only restore needs it.
    from tildone.stores.sqlite.schema import is_foreign_database

    return os.path.isfile(address.location) and not is_foreign_database(address.location)


STORE = StoreKind(
    _open,
    files=lambda address: tuple(f"{address.location}{suffix}" for suffix in SUFFIXES),
    replaceable=_is_replaceable,
)
