"""A check for all tests of stores: no statement of SQLite is unfinished when a thread gives the connection up."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import pytest

from tildone.stores.sqlite.file import SqliteFile


@contextmanager
def finished_statements() -> Iterator[None]:
    """Fail where the last of nested blocks of a `SqliteFile` ends while a statement keeps the file open for reading."""
    enter, leave = SqliteFile.__enter__, SqliteFile.__exit__
    # Changed by the thread that has the lock of the file.
    depth: Counter[int] = Counter()
    unfinished: list[str] = []

    def entered(file: SqliteFile) -> apsw.Connection:
        connection = enter(file)
        depth[id(file)] += 1
        return connection

    def left(file: SqliteFile, *error: Any) -> None:
        depth[id(file)] -= 1
        if not depth[id(file)] and _is_reading(file):
            unfinished.append(file.path)
        leave(file, *error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteFile, "__enter__", entered)
        patch.setattr(SqliteFile, "__exit__", left)
        yield
    assert not unfinished, "a statement has not returned all of its rows"


def _is_reading(file: SqliteFile) -> bool:
    """Return whether a statement outside of a transaction has not returned all of its rows."""
    if not file._connected or file._connection.in_transaction:  # noqa: SLF001  no method of the file tells it
        return False
    return file._connection.txn_state() != apsw.SQLITE_TXN_NONE  # noqa: SLF001  the same
