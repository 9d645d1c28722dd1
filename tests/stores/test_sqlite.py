"""The SQLite store beyond the contract: its file and costs, its schemas, its change feed, records beside the log."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.plans import session_on
from tests.stores.contract import NOW, QUESTION, WORKING, chain, ids, planned
from tests.stores.leases import recorder
from tests.stores.processes import finish, run_at_once, start, wait_for
from tildone.base import NotFound, StoreDamaged, StoreError, StoreTooNew
from tildone.log.kept import KeptSummary, Severity
from tildone.log.settings import FleetSettings
from tildone.log.store import Store
from tildone.plan import codec
from tildone.plan.events import Event, SessionChange, SessionHead
from tildone.plan.runs import NewRun
from tildone.stores.sqlite import health, schema
from tildone.stores.sqlite.backup import open_backup
from tildone.stores.sqlite.schema import APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION, migrations
from tildone.stores.sqlite.store import SqliteStore

Work = list[dict[str, Any]]
SUMMARY = KeptSummary("a", "0/1")


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[apsw.Connection]:
    """Every connection that is opened during the test."""
    opened: list[apsw.Connection] = []
    monkeypatch.setattr(apsw, "connection_hooks", [opened.append])
    return opened


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Every statement that is executed during the test, with its cost."""
    done: Work = []
    watch = [lambda connection: connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, done.append)]
    monkeypatch.setattr(apsw, "connection_hooks", watch)
    return done


def costs(work: Work, use: Callable[[Store], object], store: Store) -> list[int]:
    """Return what each statement costs that is executed when a store is used."""
    work.clear()
    use(store)
    return [statement["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"] for statement in work]


def test_acknowledged_changes_are_on_disk(path: Path, connections: list[apsw.Connection]) -> None:
    """Every commit is synced; readers and writers do not wait for each other. The header identifies the store."""
    SqliteStore(path).close()
    store = SqliteStore(path)

    assert store.durable
    pragmas = ("synchronous", "journal_mode", "application_id", "user_version")
    assert [connections[-1].pragma(name) for name in pragmas] == [2, "wal", APPLICATION_ID, SCHEMA_VERSION]


def test_opening_a_store_writes_nothing(path: Path, work: Work) -> None:
    chain(SqliteStore(path), "s", "a")
    work.clear()

    SqliteStore(path)

    assert len(work) == 4
    assert all(statement["sql"].startswith("PRAGMA") for statement in work)


def test_a_closed_store_is_one_file(path: Path) -> None:
    store = SqliteStore(path)
    chain(store, "s", "a")

    store.close()

    assert list(path.parent.iterdir()) == [path]


def test_missing_folders_are_created_for_the_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "not" / "there" / "plans.db"

    chain(SqliteStore(path), "s", "a")

    assert ids(SqliteStore(path).history("s")) == ["a"]
    assert path.parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", [":memory:", "file:plans?mode=memory", "with space ünï 😀.db", "%41?x#y", "-"])
def test_special_names_of_sqlite_are_plain_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """SQLite would read some of these as in-memory databases or URIs."""
    monkeypatch.chdir(tmp_path)

    chain(SqliteStore(name), "s", "a")

    assert (tmp_path / name).is_file()
    assert ids(SqliteStore(name).history("s")) == ["a"]


def test_a_store_survives_a_change_of_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("plans.db")
    (tmp_path / "elsewhere").mkdir()

    monkeypatch.chdir(tmp_path / "elsewhere")
    chain(store, "s", "a")

    assert ids(SqliteStore(tmp_path / "plans.db").history("s")) == ["a"]


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda store: session_on(store, name="s").plan, id="the plan"),
        pytest.param(lambda store: store.sessions(), id="all sessions"),
        pytest.param(lambda store: store.session_head("s"), id="the place"),
        pytest.param(lambda store: list(store.events("other")), id="the events of another session"),
        pytest.param(lambda store: store.leaves("other"), id="the leaves of another session"),
        pytest.param(lambda store: store.append("other", planned("new", "2", "x")), id="an event elsewhere"),
        pytest.param(lambda store: session_on(store, name="s", prefix="new").undo(), id="undo"),
    ],
)
def test_costs_do_not_grow_with_the_length_of_a_session(
    tmp_path: Path, work: Work, read: Callable[[Store], object]
) -> None:
    stores = [SqliteStore(tmp_path / name) for name in ("short", "long")]
    for store, length in zip(stores, (5, 300), strict=True):
        chain(store, "other", "0", "1", "2")
        chain(store, "s", *map(str, range(length)))

    short, long = (costs(work, read, store) for store in stores)

    assert short == long != []


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda store: list(store.events("s")), id="all events"),
        pytest.param(lambda store: list(store.history("s")), id="the whole history"),
        pytest.param(lambda store: list(store.check()), id="an examination"),
        pytest.param(
            lambda store: store.import_events("s", list(store.events("s")), store.session_head("s")), id="a copy"
        ),
    ],
)
def test_reading_a_whole_session_takes_linear_time(tmp_path: Path, work: Work, read: Callable[[Store], object]) -> None:
    steps = []
    for length in (500, 2000):
        store = SqliteStore(tmp_path / f"{length}.db")
        events = [planned(str(n), str(n - 1) if n else None, "x") for n in range(length)]
        store.import_events("s", events, SessionHead(f"{length - 1}"))
        steps.append(sum(costs(work, read, store)))

    assert steps[1] < 5 * steps[0]


@pytest.mark.parametrize("events", [[], ["b", "a"]], ids=["create", "migrate"])
def test_processes_that_create_or_migrate_the_same_store_wait_for_each_other(path: Path, events: list[str]) -> None:
    chain(SqliteStore(path.with_name("model.db")), "s", "a")
    if events:
        first_schema(path)

    run_at_once("make", [(path,)] * 8)

    assert schema_of(path) == schema_of(path.with_name("model.db"))
    assert ids(SqliteStore(path).history("s")) == events


def first_schema(path: Path, version: int = 1) -> Path:
    """A store of the first schema, or of a later one, with a session of two events."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL")
    for migration in migrations()[:version]:
        connection.execute(migration)
    connection.execute(f"PRAGMA user_version = {version}; PRAGMA application_id = {APPLICATION_ID}")
    insert(connection, ("s", planned("a", None, "one")), ("s", planned("b", "a", "two")))
    connection.close()
    return path


def insert(connection: apsw.Connection, *events: tuple[str, Event]) -> None:
    """Insert events into sessions."""
    rows = [(session, event.id, event.parent, event.at, codec.encode(event)) for session, event in events]
    connection.executemany("INSERT INTO events (session, id, parent, at, body) VALUES (?, ?, ?, ?, ?)", rows)


def schema_of(path: Path) -> object:
    connection = apsw.Connection(str(path))
    tables = connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
    return tables, connection.pragma("user_version"), connection.pragma("application_id")


def test_there_is_a_migration_to_every_schema() -> None:
    numbers = [name.split("_")[0] for name in sorted(os.listdir(MIGRATIONS))]
    assert numbers == [f"{number:04}" for number in range(1, SCHEMA_VERSION + 1)]


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
    first_schema(path)
    next_schema.write_text("CREATE TABLE colours (x);\nTHIS IS NOT SQL;\n")
    before = schema_of(path)

    with pytest.raises(StoreDamaged, match="syntax error"):
        SqliteStore(path)

    assert schema_of(path) == before


def test_an_older_backup_is_read_and_unchanged(path: Path, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
def test_a_store_of_any_older_schema_is_read_without_being_migrated(path: Path, version: int) -> None:
    """What it lacks is added for the connection only; nothing can be written, and no other file is created."""
    before = first_schema(path, version).read_bytes()

    store = SqliteStore(path, read_only=True)
    records, leases = store.records, store.leases(recorder())

    assert (ids(store.history("s")), ids(store.events("s"))) == (["b", "a"], ["a", "b"])
    assert [info.name for info in store.sessions()] == ["s"]
    records.keep_summaries({"s": SUMMARY})
    assert (records.seen("s", "claude"), records.need("n1")) == (None, None)
    assert (records.presences(), records.needs(), records.kept_summaries()) == ([], [], {})
    assert sum(records.density("s", 0, 10, 2)) == 2
    assert (leases.look(), leases.workers(), leases.schedules(), leases.limits()) == ([], [], [], [])
    assert (leases.settings(), leases.revision()) == (FleetSettings(), 0)
    assert [finding.what for finding in store.check()][:2] == [
        f"SQLite {apsw.sqlite_lib_version()}, schema {version}",
        f"the store has not been migrated to schema {SCHEMA_VERSION}",
    ]
    for write in (
        lambda: store.append("s", planned("c", "b", "x")),
        lambda: records.set_seen("s", "claude", "a"),
        lambda: leases.add(NewRun("r1", "s")),
    ):
        with pytest.raises(StoreError):
            write()
    store.close()
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["plans.db"]


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
def test_a_store_of_any_older_schema_is_migrated(path: Path, version: int) -> None:
    """Its schema becomes that of a new one, nothing is lost, and revisions go on."""
    SqliteStore(path.with_name("new.db"))

    store = SqliteStore(first_schema(path, version))
    copied = store.import_events("s", list(store.events("s")), store.session_head("s"))
    before = store.records.revision()
    store.move_head("s", SessionHead("a", ("b",)), expected="b")
    moved = store.records.changed(before)
    store.move_head("s", SessionHead("b"), expected="a")
    chain(store, "s", "c")
    store.records.keep_summaries({"s": SUMMARY})
    store.records.ask(QUESTION)
    store.leases(recorder()).add(NewRun("r1", "s"))

    assert (copied, moved) == (0, [SessionChange("s", "a", before + 1)])
    assert ids(store.history("s"))[1:] == ["c", "b", "a"]
    assert (store.records.kept_summaries(), store.records.needs()) == ({"s": SUMMARY}, [QUESTION])
    assert store.leases(recorder()).look()[0].lease.session == "s"
    assert list(store.check())[-1].what == "1 session and 4 events, all intact"
    assert schema_of(path) == schema_of(path.with_name("new.db"))


@pytest.mark.parametrize("version", [0, -7])
@pytest.mark.parametrize("read_only", [True, False], ids=["reading", "writing"])
def test_a_store_without_a_schema_is_damaged(path: Path, version: int, *, read_only: bool) -> None:
    """No tildone writes one."""
    first_schema(path)
    apsw.Connection(str(path)).execute(f"PRAGMA user_version = {version}")

    with pytest.raises(StoreDamaged, match=f"it has schema {version}; to check all of it: tildone doctor"):
        SqliteStore(path, read_only=read_only)


@pytest.mark.parametrize("exists", [True, False])
def test_a_missing_or_empty_file_is_no_store_to_a_reader(path: Path, *, exists: bool) -> None:
    """Another process may be about to create the store. Nothing is created."""
    if exists:
        path.touch()

    with pytest.raises(NotFound, match=r"there is no store at .*plans\.db"):
        SqliteStore(path, read_only=True)

    assert [(each, each.read_bytes()) for each in path.parent.iterdir()] == ([(path, b"")] if exists else [])


INSERTED = "INSERT INTO events (session, id, parent, at, body) VALUES ('s', 'c', 'b', 1, ?)"


@pytest.mark.parametrize(
    ("statement", "head", "exists"),
    [
        (INSERTED.replace("?", f"'{codec.encode(planned('c', 'b', 'x'))}'"), "c", True),
        ("UPDATE sessions SET head = 'a' WHERE name = 's'", "a", True),
        ("UPDATE sessions SET ahead = '[\"b\"]' WHERE name = 's'", "b", True),
        ("DELETE FROM sessions WHERE name = 's'", None, False),
    ],
    ids=["an event", "a head", "a redo stack", "a deletion"],
)
def test_a_program_that_knows_no_revisions_makes_them(
    path: Path, statement: str, head: str | None, *, exists: bool
) -> None:
    """Triggers of the file do."""
    store = SqliteStore(path)
    chain(store, "s", "a", "b")
    chain(store, "other", "a")
    before = store.records.revision()

    apsw.Connection(str(path)).execute(statement)

    assert store.records.changed(before) == [SessionChange("s", head, before + 1, exists)]
    assert store.records.revision() == before + 1


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda store: store.append("s", planned("c", "b", "x")), id="an event"),
        pytest.param(lambda store: store.append("s", planned("c", "b", "x"), "claude"), id="an event and its reader"),
        pytest.param(lambda store: store.append("new", planned("a", None, "x")), id="a new session"),
        pytest.param(lambda store: store.move_head("s", SessionHead("a", ("b",)), expected="b"), id="undo"),
        pytest.param(lambda store: store.delete("s", expected="b"), id="a deletion"),
        pytest.param(lambda store: store.records.revision(), id="the revision"),
        pytest.param(lambda store: store.records.changed(store.records.revision() - 2), id="what changed"),
    ],
)
def test_costs_do_not_grow_with_the_number_of_sessions(
    tmp_path: Path, work: Work, use: Callable[[Store], object]
) -> None:
    stores = [SqliteStore(tmp_path / name) for name in ("few", "many")]
    for store, sessions in zip(stores, (3, 300), strict=True):
        for number in range(sessions):
            chain(store, f"session {number}", "a")
        chain(store, "gone", "a")
        store.delete("gone", expected="a")
        chain(store, "s", "a", "b")

    few, many = (costs(work, use, store) for store in stores)

    assert few == many != []


def test_an_append_is_one_statement(path: Path, work: Work) -> None:
    store = SqliteStore(path)
    chain(store, "s", "a")
    work.clear()

    store.append("s", planned("b", "a", "x"))

    assert [statement["sql"].split()[0] for statement in work] == ["INSERT"]


def test_compaction_forgets_deletions_after_ten_thousand_changes(path: Path) -> None:
    """Sessions that exist are kept, however old their newest change is."""
    store = SqliteStore(path)
    chain(store, "old", "a")
    for name in ("one", "two"):
        chain(store, name, "a")
        store.delete(name, expected="a")
    chain(store, "new", "a")
    apsw.Connection(str(path)).execute("UPDATE changes SET revision = 10003 WHERE session = 'new'")
    told = store.records.changed(0)

    store.compact()

    assert [change.session for change in told] == ["old", "one", "two", "new"]
    assert [change.session for change in store.records.changed(0)] == ["old", "two", "new"]
    assert store.records.revision() == 10_003


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
@pytest.mark.parametrize("read_only", [True, False], ids=["reading", "writing"])
def test_a_store_of_any_older_schema_has_a_feed(path: Path, version: int, *, read_only: bool) -> None:
    """The sessions that it has are in the order in which they were last written, migrated or not."""
    first_schema(path, version)
    insert(apsw.Connection(str(path)), ("t", planned("a", None, "x")), ("s", planned("c", "b", "x")))

    store = SqliteStore(path, read_only=read_only)

    feed = store.records
    changes = [SessionChange("t", "a", 3), SessionChange("s", "c", 4)]
    assert (feed.revision(), feed.changed(0), feed.changed(3), feed.changed(4)) == (4, changes, changes[1:], [])
    assert not feed.wait_any(4, 0)


def test_a_store_that_may_only_be_read_keeps_no_summary_and_refuses_the_rest(path: Path) -> None:
    store = SqliteStore(path)
    chain(store, "s", "a")
    store.records.ask(QUESTION)
    reader = SqliteStore(path, read_only=True)

    reader.records.keep_summaries({"s": SUMMARY})

    assert reader.records.kept_summaries() == {}
    assert reader.records.needs() == [QUESTION]
    with pytest.raises(StoreError, match="read-only"):
        reader.records.beat(WORKING)
    with pytest.raises(StoreError, match="read-only"):
        reader.records.answer("n1", "no", "Ada", NOW)


def test_a_store_that_another_process_writes_to_keeps_no_summary_and_does_not_wait(path: Path) -> None:
    store = SqliteStore(path)
    chain(store, "s", "a")
    with start("hold", path) as other:
        wait_for("held", other)
        store.records.keep_summaries({"s": SUMMARY})
        busy = other.poll() is None
        kept = store.records.kept_summaries()
        finish([other])

    assert busy
    assert kept == {}
    store.records.keep_summaries({"s": SUMMARY})
    assert store.records.kept_summaries() == {"s": SUMMARY}


def test_a_full_disk_keeps_no_summary(path: Path) -> None:
    store = SqliteStore(path)
    chain(store, "s", "a")
    with store._file as connection:  # noqa: SLF001  the limit belongs to a connection
        connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').get}")

    store.records.keep_summaries({"s": KeptSummary("a", "x" * 100_000)})

    assert store.records.kept_summaries() == {}
    chain(store, "s", "b")
    assert store.session_head("s").head == "b"


def test_a_presence_and_a_summary_are_not_flushed_but_the_next_event_is(path: Path) -> None:
    """SQLite flushes commits again afterwards, also after an error."""
    store = SqliteStore(path)
    chain(store, "s", "a")

    store.records.beat(WORKING)
    store.records.leave(WORKING.agent)
    store.records.keep_summaries({"s": SUMMARY})

    with store._file as connection:  # noqa: SLF001  the setting belongs to a connection
        assert connection.execute("PRAGMA synchronous").get == 2


def test_records_are_no_part_of_a_check(path: Path) -> None:
    store = SqliteStore(path)
    chain(store, "s", "a")
    store.records.beat(WORKING)
    store.records.ask(QUESTION)
    store.close()
    apsw.Connection(str(path)).execute("UPDATE presence SET body = '{'; UPDATE needs SET body = '[]'")

    again = SqliteStore(path)

    assert (again.records.presences(), again.records.needs(), again.records.need("n1")) == ([], [], None)
    assert [found.severity for found in again.check()] == [Severity.OK, Severity.OK]


def test_a_density_is_counted_by_the_index_of_the_session(path: Path) -> None:
    store = SqliteStore(path)
    chain(store, "s", "a")
    from tildone.stores.sqlite import schema as queries  # noqa: PLC0415  only this test looks at a plan

    row = {"session": "s", "begin": 0, "end": 10, "buckets": 2}
    steps = apsw.Connection(str(path)).execute(f"EXPLAIN QUERY PLAN {queries.DENSITY}", row).fetchall()

    assert any("SEARCH events USING INDEX" in str(step) for step in steps)
