"""Schemas: an older store is brought up to date when it is opened, a newer one is left alone."""

import os
import shutil
from pathlib import Path

import apsw
import pytest

from tests.stores.contract import chain, ids, planned
from tests.stores.processes import finish, start, wait_for
from tildone.errors import StoreDamaged, StoreError, StoreTooNew
from tildone.log import codec
from tildone.stores.sqlite import health, schema
from tildone.stores.sqlite.backup import open_backup
from tildone.stores.sqlite.schema import APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION, migrations
from tildone.stores.sqlite.store import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plans.db"


def first_schema(path: Path) -> Path:
    """A store as the first tildone left it, with a session of two events."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(migrations()[0])
    connection.execute(f"PRAGMA user_version = 1; PRAGMA application_id = {APPLICATION_ID}")
    for event in (planned("a", None, "one"), planned("b", "a", "two")):
        connection.execute(
            "INSERT INTO events (session, id, parent, at, body) VALUES ('s', ?, ?, ?, ?)",
            (event.id, event.parent, event.at, codec.encode(event)),
        )
    connection.close()
    return path


def schema_of(path: Path) -> object:
    connection = apsw.Connection(str(path))
    tables = connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
    return tables, connection.pragma("user_version"), connection.pragma("application_id")


def test_there_is_a_step_to_every_schema() -> None:
    """Numbered in the order they are taken."""
    assert [name.split("_")[0] for name in sorted(os.listdir(MIGRATIONS))] == [
        f"{n:04}" for n in range(1, SCHEMA_VERSION + 1)
    ]


def test_an_older_store_is_brought_up_to_date(path: Path) -> None:
    """It becomes what a new one is, and nothing in it is lost."""
    first_schema(path)
    SqliteStore(path.with_name("new.db"))

    store = SqliteStore(path)
    chain(store, "s", "c")

    assert ids(store.history("s")) == ["c", "b", "a"]
    assert list(store.check())[-1].what == "1 session and 3 events, all intact"
    assert schema_of(path) == schema_of(path.with_name("new.db"))


def test_what_an_older_tildone_wrote_counts_as_the_same(path: Path) -> None:
    """Whether it has a sum or not, a copy finds it there."""
    first_schema(path)

    new = SqliteStore(path).import_events(
        "s", [planned("a", None, "one"), planned("b", "a", "two")], SqliteStore(path).session_head("s")
    )

    assert new == 0


@pytest.fixture
def next_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tildone of some day, which knows one schema more; the file of the step to it."""
    folder = tmp_path / "steps"
    shutil.copytree(MIGRATIONS, folder)
    monkeypatch.setattr(schema, "MIGRATIONS", str(folder))
    monkeypatch.setattr(schema, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    step = folder / f"{SCHEMA_VERSION + 1:04}_colours.sql"
    step.write_text("ALTER TABLE sessions ADD COLUMN colour TEXT;\nUPDATE sessions SET colour = 'red';\n")
    return step


@pytest.mark.usefixtures("next_schema")
def test_a_step_is_taken_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the first who opens the store; this tildone then leaves it alone."""
    with monkeypatch.context() as today:
        today.setattr(schema, "SCHEMA_VERSION", SCHEMA_VERSION)
        chain(SqliteStore(path), "s", "a")

    monkeypatch.setattr(health, "integrity_errors", lambda *_: pytest.fail("it is known that nobody else wrote to it"))
    stores = [SqliteStore(path), SqliteStore(path)]

    assert [ids(store.history("s")) for store in stores] == [["a"], ["a"]]
    monkeypatch.undo()
    with pytest.raises(
        StoreTooNew, match=rf"it has schema {SCHEMA_VERSION + 1}, this one supports up to {SCHEMA_VERSION}"
    ):
        SqliteStore(path)


def test_a_step_that_fails_leaves_the_store_as_it_was(path: Path, next_schema: Path) -> None:
    """All steps are taken, or none."""
    first_schema(path)
    next_schema.write_text("CREATE TABLE colours (x);\nTHIS IS NOT SQL;\n")
    before = schema_of(path)

    with pytest.raises(StoreDamaged, match="syntax error"):
        SqliteStore(path)

    assert schema_of(path) == before


def test_many_who_open_an_older_store_bring_it_up_to_date_once(path: Path) -> None:
    """The first to come does it, the others wait for that; none is refused."""
    first_schema(path)

    makers = [start("make", path) for _ in range(6)]
    for maker in makers:
        wait_for("ready", maker)
    finish(makers)

    assert ids(SqliteStore(path).history("s")) == ["b", "a"]


def test_who_only_looks_changes_nothing(path: Path) -> None:
    """An older store stays an older one, and no file is left beside it."""
    first_schema(path)
    before = path.read_bytes()

    store = SqliteStore(path, read_only=True)
    said = [finding.what for finding in store.check()]
    with pytest.raises(StoreError):
        store.append("s", planned("c", "b", "x"))
    store.close()

    assert said[:2] == [
        f"SQLite {apsw.sqlite_lib_version()}, schema 1",
        "the store has not been migrated to schema 2",
    ]
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["plans.db"]


def test_an_older_backup_is_read_and_left_as_it_is(path: Path, tmp_path: Path) -> None:
    """It is brought up to date in a copy of its own."""
    first_schema(path)
    before = path.read_bytes()

    store = open_backup(str(path), str(tmp_path / "scratch.db"))

    assert ids(store.history("s")) == ["b", "a"]
    store.close()
    assert path.read_bytes() == before


def test_a_backup_that_is_put_in_the_place_of_a_store_becomes_one(path: Path) -> None:
    """Readers and writers do not wait for each other then."""
    chain(SqliteStore(path), "s", "a")
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()

    chain(SqliteStore(path), "s", "b")

    assert apsw.Connection(str(path)).pragma("journal_mode") == "wal"
    assert ids(SqliteStore(path).history("s")) == ["b", "a"]
