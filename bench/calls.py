"""Time of a tool call in a running process, against a bare SQLite insert of the same bytes."""

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw

from bench.measure import Row, medians
from bench.plans import Toggle, filled_session
from tildone.plan import codec
from tildone.stores.memory import MemoryStore
from tildone.stores.sqlite.store import SqliteStore

AIM = 2.0
BASE = "append + commit, same bytes"


def rows(folder: Path, rounds: int) -> Iterator[Row]:
    """A row for each store, and one for an agent: the store also records what its model has seen."""
    sqlite = SqliteStore(folder / "calls.db")
    in_memory, on_disk = (Toggle(filled_session(store, "bench")) for store in (MemoryStore(), sqlite))
    of_agent = filled_session(sqlite, "agent")
    of_agent.reader = "claude:bench@1"
    on_disk()
    body = codec.encode(next(sqlite.history("bench")))
    bare, *taken = medians([appending(folder / "bare.db", body), in_memory, on_disk, Toggle(of_agent)], rounds)
    for name, took in zip(("memory", "SQLite", "an agent's"), taken, strict=True):
        yield Row(f"Session.call, one of ten tasks, {name}", BASE, AIM, took, bare)


def appending(path: Path, body: str) -> Callable[[], None]:
    """The minimum that SQLite does to store `body`: one row in a one-column table, synced as the store does."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE log (body)")

    def append() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO log VALUES (?)", (body,))
        connection.execute("COMMIT")

    return append
