"""Properties of the SQLite store beyond the contract: its file, its costs, and other processes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.plans import session_on
from tests.stores.contract import chain, ids, planned
from tests.stores.processes import finish, start, wait_for
from tildone.log.store import Store
from tildone.plan.events import SessionHead
from tildone.stores.sqlite.schema import APPLICATION_ID, SCHEMA_VERSION
from tildone.stores.sqlite.store import SqliteStore

Work = list[dict[str, Any]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plans.db"


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


def test_acknowledged_changes_are_on_disk(path: Path, connections: list[apsw.Connection]) -> None:
    """Every commit is synced; readers and writers do not wait for each other."""
    SqliteStore(path).close()
    store = SqliteStore(path)
    connection = connections[-1]

    assert store.durable
    assert connection.pragma("synchronous") == 2
    assert connection.pragma("journal_mode") == "wal"


def test_a_store_is_identified_by_its_header(path: Path) -> None:
    """Other programs can recognise the file and its version."""
    SqliteStore(path).close()

    connection = apsw.Connection(str(path))
    assert connection.pragma("application_id") == APPLICATION_ID
    assert connection.pragma("user_version") == SCHEMA_VERSION


def test_opening_a_store_writes_nothing(path: Path, work: Work) -> None:
    """Every command opens it."""
    chain(SqliteStore(path), "s", "a")
    work.clear()

    SqliteStore(path)

    assert len(work) == 4
    assert all(statement["sql"].startswith("PRAGMA") for statement in work)


def test_a_closed_store_is_one_file(path: Path) -> None:
    """It can be copied or mailed."""
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
    """SQLite takes as many steps for a long history as for a short one."""
    stores = [SqliteStore(tmp_path / name) for name in ("short", "long")]
    for store, length in zip(stores, (5, 300), strict=True):
        chain(store, "other", "0", "1", "2")
        chain(store, "s", *map(str, range(length)))

    costs = []
    for store in stores:
        work.clear()
        read(store)
        costs.append([statement["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"] for statement in work])

    assert costs[0] == costs[1] != []


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
    """Four times as many events take four times as many steps."""
    costs = []
    for length in (500, 2000):
        store = SqliteStore(tmp_path / f"{length}.db")
        store.import_events(
            "s", [planned(str(n), str(n - 1) if n else None, "x") for n in range(length)], SessionHead(f"{length - 1}")
        )
        work.clear()
        read(store)
        costs.append(sum(statement["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"] for statement in work))

    assert costs[1] < 5 * costs[0]


def test_processes_that_create_the_same_store_wait_for_each_other(path: Path) -> None:
    """The first creates it; none fails."""
    chain(SqliteStore(path.with_name("model.db")), "s", "a")

    makers = [start("make", path) for _ in range(8)]
    for maker in makers:
        wait_for("ready", maker)
    finish(makers)

    assert tables(path) == tables(path.with_name("model.db"))


def tables(path: Path) -> object:
    connection = apsw.Connection(str(path))
    return connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
