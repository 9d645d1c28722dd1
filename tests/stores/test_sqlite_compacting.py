"""Compaction of a SQLite store."""

import os
from pathlib import Path

import pytest

from tests.stores.contract import chain, ids, planned
from tests.stores.processes import run
from tildone.log.kept import Severity
from tildone.stores.sqlite.store import SqliteStore

unix_only = pytest.mark.skipif(not hasattr(os, "fork"), reason="limits are Unix's")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plans.db"


def test_compacting_returns_the_space_of_deleted_sessions(path: Path) -> None:
    """Other sessions are unchanged."""
    store = SqliteStore(path)
    kept = chain(store, "s", "a", "b")
    for number in range(50):
        store.append("old", planned(str(number), str(number - 1) if number else None, "x" * 5000))
    store._file.checkpoint()  # noqa: SLF001  what happens by itself after a thousand pages
    before = path.stat().st_size

    store.delete("old", expected="49")
    freed = store.compact()

    assert freed == before - path.stat().st_size > 200_000
    assert list(store.events("s")) == kept
    chain(store, "s", "c")
    assert ids(SqliteStore(path).history("s")) == ["c", "b", "a"]
    assert is_intact(path)


def test_a_store_with_little_unused_space_is_not_compacted(path: Path) -> None:
    store = SqliteStore(path)
    chain(store, "s", *map(str, range(30)))

    assert store.compact() == 0


@unix_only
def test_compacting_without_disk_space_loses_nothing(path: Path) -> None:
    """It is an error, and the store can still be used."""
    store = SqliteStore(path)
    for number in range(60):
        store.append("old", planned(str(number), str(number - 1) if number else None, "x" * 5000))
        store.append("new", planned(str(number), str(number - 1) if number else None, "x" * 5000))
    store.close()

    said = run("packed", path).stdout.splitlines()

    assert said[0].startswith("StoreError: ")
    assert said[1:] == ["after-0"]
    assert len(ids(SqliteStore(path).events("new"))) == 60
    assert is_intact(path)


def is_intact(path: Path) -> bool:
    return all(finding.severity is not Severity.ERROR for finding in SqliteStore(path, read_only=True).check())
