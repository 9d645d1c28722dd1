"""A store that a test adds: a SQLite file with another scheme."""

from __future__ import annotations

from tildone.stores import StoreKind
from tildone.stores.sqlite.store import SqliteStore

STORE = StoreKind(open=lambda address, options: SqliteStore(f"{address.location}.toy", timeout=options.timeout))
