"""The change feed of the SQLite store beyond the contract: its triggers, its costs, older schemas, other processes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.stores.contract import chain, planned
from tests.stores.processes import run
from tests.stores.test_sqlite_schema import first_schema
from tildone.log.store import Store
from tildone.plan import codec
from tildone.plan.events import SessionChange, SessionHead
from tildone.stores.sqlite.schema import SCHEMA_VERSION
from tildone.stores.sqlite.store import SqliteStore

Work = list[dict[str, Any]]

INSERTED = "INSERT INTO events (session, id, parent, at, body) VALUES ('s', 'c', 'b', 1, ?)"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plans.db"


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Every statement that is executed during the test, with its cost."""
    done: Work = []
    watch = [lambda connection: connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, done.append)]
    monkeypatch.setattr(apsw, "connection_hooks", watch)
    return done


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
    """SQLite takes as many steps among many sessions as among few."""
    stores = [SqliteStore(tmp_path / name) for name in ("few", "many")]
    for store, sessions in zip(stores, (3, 300), strict=True):
        for number in range(sessions):
            chain(store, f"session {number}", "a")
        chain(store, "gone", "a")
        store.delete("gone", expected="a")
        chain(store, "s", "a", "b")

    costs = []
    for store in stores:
        work.clear()
        use(store)
        costs.append([statement["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"] for statement in work])

    assert costs[0] == costs[1] != []


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
    connection = apsw.Connection(str(path))
    for session, event in (("t", planned("a", None, "x")), ("s", planned("c", "b", "x"))):
        row = (session, event.id, event.parent, event.at, codec.encode(event))
        connection.execute("INSERT INTO events (session, id, parent, at, body) VALUES (?, ?, ?, ?, ?)", row)

    store = SqliteStore(path, read_only=read_only)

    assert store.records.changed(0) == [SessionChange("t", "a", 3), SessionChange("s", "c", 4)]
    assert (store.records.revision(), store.records.changed(3), store.records.changed(4)) == (
        4,
        [SessionChange("s", "c", 4)],
        [],
    )
    assert not store.records.wait_any(4, 0)


def test_a_migrated_store_goes_on_with_its_revisions(path: Path) -> None:
    store = SqliteStore(first_schema(path, SCHEMA_VERSION - 1))
    before = store.records.revision()

    store.move_head("s", SessionHead("a", ("b",)), expected="b")

    assert store.records.changed(before) == [SessionChange("s", "a", before + 1)]


def test_writers_that_are_killed_leave_the_feed_as_the_sessions_are(path: Path) -> None:
    """A revision is written with its change, or neither is."""
    told = run("killed", path, 20, 7).stdout.split()
    store = SqliteStore(path)

    [change] = store.records.changed(0)

    assert change == SessionChange("s", store.session_head("s").head, store.records.revision())
    assert store.records.revision() == len(list(store.events("s"))) >= len(told) > 0
