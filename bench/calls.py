"""What a tool call costs in a process that is running, against nothing but getting its bytes onto the disk."""

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw

from bench.measure import Row, medians
from bench.plans import Toggle, filled_session
from tildone.log import codec
from tildone.stores.memory import MemoryStore
from tildone.stores.sqlite.store import SqliteStore

AIM = 2.0
BASE = "append + commit, same bytes"


def rows(folder: Path, rounds: int) -> Iterator[Row]:
    """A row for each store."""
    sqlite = SqliteStore(folder / "calls.db")
    in_memory, on_disk = (Toggle(filled_session(store, "bench")) for store in (MemoryStore(), sqlite))
    on_disk()
    body = codec.encode(next(sqlite.history("bench")))
    bare, *taken = medians([appending(folder / "bare.db", body), in_memory, on_disk], rounds)
    for name, took in zip(("memory", "SQLite"), taken, strict=True):
        yield Row(f"Session.call, one of ten tasks, {name}", BASE, AIM, took, bare)


def appending(path: Path, body: str) -> Callable[[], None]:
    """The least that SQLite can do to keep `body`: one row in a table of one column, synced as a store does."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE log (body)")

    def append() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO log VALUES (?)", (body,))
        connection.execute("COMMIT")

    return append
