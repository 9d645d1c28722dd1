"""Schemas of the SQLite store: an older one is migrated on opening, a newer one is refused."""

import os
import shutil
from pathlib import Path

import apsw
import pytest

from tests.stores.contract import chain, ids, planned
from tests.stores.processes import finish, start, wait_for
from tildone.base.errors import NotFound, StoreDamaged, StoreError, StoreTooNew
from tildone.plan import codec
from tildone.stores.sqlite import health, schema
from tildone.stores.sqlite.schema import APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION, migrations
from tildone.stores.sqlite.store import SqliteStore
from tildone.stores.sqlite.upkeep import open_backup


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plans.db"


def first_schema(path: Path, version: int = 1) -> Path:
    """A store of the first schema, or of a later one, with a session of two events."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL")
    for migration in migrations()[:version]:
        connection.execute(migration)
    connection.execute(f"PRAGMA user_version = {version}; PRAGMA application_id = {APPLICATION_ID}")
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


def test_there_is_a_migration_to_every_schema() -> None:
    """Numbered in order."""
    assert [name.split("_")[0] for name in sorted(os.listdir(MIGRATIONS))] == [
        f"{n:04}" for n in range(1, SCHEMA_VERSION + 1)
    ]


def test_an_older_store_is_migrated(path: Path) -> None:
    """Its schema becomes that of a new one, and nothing is lost."""
    first_schema(path)
    SqliteStore(path.with_name("new.db"))

    store = SqliteStore(path)
    chain(store, "s", "c")

    assert ids(store.history("s")) == ["c", "b", "a"]
    assert list(store.check())[-1].what == "1 session and 3 events, all intact"
    assert schema_of(path) == schema_of(path.with_name("new.db"))


def test_events_of_an_older_tildone_are_recognised_by_a_copy(path: Path) -> None:
    """With or without a checksum."""
    first_schema(path)

    new = SqliteStore(path).import_events(
        "s", [planned("a", None, "one"), planned("b", "a", "two")], SqliteStore(path).session_head("s")
    )

    assert new == 0


@pytest.fixture
def next_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A future tildone with one more migration; returns the file of that migration."""
    folder = tmp_path / "steps"
    shutil.copytree(MIGRATIONS, folder)
    monkeypatch.setattr(schema, "MIGRATIONS", str(folder))
    monkeypatch.setattr(schema, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    step = folder / f"{SCHEMA_VERSION + 1:04}_colours.sql"
    step.write_text("ALTER TABLE sessions ADD COLUMN colour TEXT;\nUPDATE sessions SET colour = 'red';\n")
    return step


@pytest.mark.usefixtures("next_schema")
def test_a_migration_runs_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the store is first opened; this tildone then refuses the store."""
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


def test_a_failed_migration_leaves_the_store_unchanged(path: Path, next_schema: Path) -> None:
    """All migrations run, or none."""
    first_schema(path)
    next_schema.write_text("CREATE TABLE colours (x);\nTHIS IS NOT SQL;\n")
    before = schema_of(path)

    with pytest.raises(StoreDamaged, match="syntax error"):
        SqliteStore(path)

    assert schema_of(path) == before


def test_processes_that_open_an_older_store_migrate_it_once(path: Path) -> None:
    """The first does, the others wait; none fails."""
    first_schema(path)

    makers = [start("make", path) for _ in range(6)]
    for maker in makers:
        wait_for("ready", maker)
    finish(makers)

    assert ids(SqliteStore(path).history("s")) == ["b", "a"]


def test_opening_an_older_store_read_only_changes_nothing(path: Path) -> None:
    """It is not migrated, and no other file is created."""
    first_schema(path)
    before = path.read_bytes()

    store = SqliteStore(path, read_only=True)
    said = [finding.what for finding in store.check()]
    with pytest.raises(StoreError):
        store.append("s", planned("c", "b", "x"))
    store.close()

    assert said[:2] == [
        f"SQLite {apsw.sqlite_lib_version()}, schema 1",
        f"the store has not been migrated to schema {SCHEMA_VERSION}",
    ]
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["plans.db"]


def test_an_older_backup_is_read_and_unchanged(path: Path, tmp_path: Path) -> None:
    """A copy of it is migrated."""
    first_schema(path)
    before = path.read_bytes()

    store = open_backup(str(path), str(tmp_path / "scratch.db"))

    assert ids(store.history("s")) == ["b", "a"]
    store.close()
    assert path.read_bytes() == before


def test_a_backup_in_the_place_of_a_store_is_switched_to_wal(path: Path) -> None:
    """Readers and writers then do not wait for each other."""
    chain(SqliteStore(path), "s", "a")
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()

    chain(SqliteStore(path), "s", "b")

    assert apsw.Connection(str(path)).pragma("journal_mode") == "wal"
    assert ids(SqliteStore(path).history("s")) == ["b", "a"]


def test_an_older_store_is_read_without_being_migrated(path: Path) -> None:
    first_schema(path)
    before = path.read_bytes()

    store = SqliteStore(path, read_only=True)

    assert ids(store.history("s")) == ["b", "a"]
    assert [info.name for info in store.sessions()] == ["s"]
    assert ids(store.events("s")) == ["a", "b"]
    assert store.records.seen("s", "claude") is None
    store.close()
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
def test_a_store_of_any_older_schema_is_read_without_being_migrated(path: Path, version: int) -> None:
    """What it lacks is added for the connection only."""
    first_schema(path, version)

    store = SqliteStore(path, read_only=True)

    assert (ids(store.history("s")), store.records.seen("s", "claude")) == (["b", "a"], None)
    assert [info.name for info in store.sessions()] == ["s"]
    with pytest.raises(StoreError):
        store.records.set_seen("s", "claude", "a")
    assert apsw.Connection(str(path)).pragma("user_version") == version


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
def test_a_store_of_any_older_schema_is_migrated(path: Path, version: int) -> None:
    store = SqliteStore(first_schema(path, version))
    chain(store, "s", "c")

    assert ids(store.history("s")) == ["c", "b", "a"]
    assert list(store.check())[-1].what == "1 session and 3 events, all intact"


@pytest.mark.parametrize("version", [0, -7])
@pytest.mark.parametrize("read_only", [True, False], ids=["reading", "writing"])
def test_a_store_without_a_schema_is_damaged(path: Path, version: int, *, read_only: bool) -> None:
    """No tildone writes one."""
    first_schema(path)
    apsw.Connection(str(path)).execute(f"PRAGMA user_version = {version}")

    with pytest.raises(StoreDamaged, match=f"it has schema {version}; to check all of it: tildone doctor"):
        SqliteStore(path, read_only=read_only)


def test_an_empty_file_is_no_store_to_a_reader(path: Path) -> None:
    """Another process may be about to create the store."""
    path.touch()

    with pytest.raises(NotFound, match="there is no store at "):
        SqliteStore(path, read_only=True)

    assert path.read_bytes() == b""
