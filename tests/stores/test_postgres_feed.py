"""The change feed of the PostgreSQL store beyond the contract: commits, triggers, costs, older schemas, processes."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from tests.plans import session_on
from tests.stores.contract import LONG_ENOUGH, chain, planned
from tests.stores.postgres import Server, ended, execute, needs_server, program
from tests.suite.waiting import until
from tildone.base.errors import StoreError
from tildone.plan.events import SessionChange, SessionHead

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")

import psycopg

from tildone.stores.postgres import connections as listener
from tildone.stores.postgres import schema
from tildone.stores.postgres.rows import migrations, query, row_of, session_row
from tildone.stores.postgres.store import PostgresStore

pytestmark = needs_server
LISTENING = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN tildone'"

MANY = """
INSERT INTO tildone.sessions (name, head, ahead, events, created, updated, newest)
SELECT 'x' || n, head, ahead, events, created, updated, newest FROM tildone.sessions, generate_series(1, 5000) AS n
"""


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(url)
    yield opened
    opened.close()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiters do not look by themselves."""
    monkeypatch.setattr(listener, "RECHECK_SECONDS", 100 * LONG_ENOUGH)


@pytest.fixture
def older(empty: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database of the schema before revisions, with two sessions."""
    with monkeypatch.context() as before:
        before.setattr(schema, "migrations", lambda: migrations()[:2])
        store = PostgresStore(empty)
        chain(store, "s", "a")
        chain(store, "long " * 1000, "long " * 1000)
        chain(store, "s", "b")
        store.close()
    return empty


def test_a_change_that_commits_later_has_the_later_revision(url: str, store: PostgresStore) -> None:
    """Whoever follows the feed misses no change of a transaction that began earlier. Others do not wait for it."""
    chain(store, "slow", "a")
    chain(store, "quick", "a")
    before = store.records.revision()

    with psycopg.connect(url) as slow:
        slow.execute(query("append"), session_row("slow") | row_of(planned("b", "a", "x")))
        chain(store, "quick", "b")
        quick = store.records.revision()
        told = store.records.changed(before)
        slow.commit()

    assert told == [SessionChange("quick", "b", quick)]
    assert store.records.changed(quick) == [SessionChange("slow", "b", store.records.revision())]


def test_a_change_that_is_rolled_back_has_no_revision(url: str, store: PostgresStore) -> None:
    chain(store, "s", "a")
    before = store.records.revision()

    with psycopg.connect(url) as other:
        other.execute(query("append"), session_row("s") | row_of(planned("b", "a", "x")))
        other.rollback()

    assert store.records.changed(before) == []


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    ("statement", "head", "exists"),
    [
        ("UPDATE tildone.sessions SET head = 'a' WHERE name = 's'", "a", True),
        ("UPDATE tildone.sessions SET ahead = '[\"b\"]' WHERE name = 's'", "b", True),
        ("DELETE FROM tildone.sessions WHERE name = 's'", None, False),
    ],
    ids=["a head", "a redo stack", "a deletion"],
)
def test_a_program_that_knows_no_revisions_makes_them(
    url: str, store: PostgresStore, statement: str, head: str | None, *, exists: bool
) -> None:
    """Triggers of the schema do, and notify."""
    chain(store, "s", "a", "b")
    chain(store, "other", "a")
    before = store.records.revision()

    with waiting(store) as [woken]:
        until(lambda: execute(url, LISTENING) != [])
        execute(url, statement)
        assert woken.result(LONG_ENOUGH)
        assert store.records.changed(before) == [SessionChange("s", head, store.records.revision(), exists)]


@pytest.mark.usefixtures("patient")
def test_a_waiter_for_any_change_is_notified_by_other_processes(url: str, store: PostgresStore) -> None:
    session_on(store).call("write_todos", {"mode": "replace", "todos": [{"text": "one"}]})
    before = store.records.revision()

    with waiting(store) as [woken], program("toggle", url, 0, 1) as other:
        ended(other)
        assert woken.result(LONG_ENOUGH)
        assert store.records.changed(before) == [SessionChange("s", "0-0", store.records.revision())]


@pytest.mark.usefixtures("patient")
def test_a_waiter_for_one_session_is_not_woken_by_others(url: str, store: PostgresStore) -> None:
    """A waiter for any session is, on the same connection."""
    chain(store, "s", "a")

    with waiting(store, lambda: store.wait("s", "a", 10 * LONG_ENOUGH)) as [anyone, one]:
        until(lambda: len(execute(url, LISTENING)) == 1)
        chain(store, "other", "a")
        assert anyone.result(LONG_ENOUGH)
        assert not one.done()
        chain(store, "s", "b")
        assert one.result(LONG_ENOUGH)


@contextmanager
def waiting(store: PostgresStore, *others: Callable[[], bool]) -> Iterator[list["Future[bool]"]]:
    """Threads that wait for any change, and for others, for longer than the test; the store is closed afterwards."""
    revision = store.records.revision()
    with ThreadPoolExecutor(1 + len(others)) as pool:
        try:
            yield [pool.submit(wait) for wait in (lambda: store.records.wait_any(revision, 10 * LONG_ENOUGH), *others)]
        finally:
            store.close()


def test_what_changed_is_found_by_indexes(own_url: str) -> None:
    """However many sessions there are; the server keeps the statistics up to date by itself."""
    store = PostgresStore(own_url)
    chain(store, "s", "a")
    execute(own_url, MANY, "ANALYZE")
    before = store.records.revision()
    chain(store, "s", "b")
    chain(store, "t", "a")

    with psycopg.connect(own_url, autocommit=True) as connection:
        explained = connection.execute(
            b"EXPLAIN (ANALYZE, FORMAT JSON) " + query("changed"), {"since": before}
        ).fetchone()

    assert [change.session for change in store.records.changed(before)] == ["s", "t"]
    assert explained is not None
    assert sum(rows_of(explained[0][0]["Plan"])) < 30
    store.close()


def rows_of(plan: dict[str, Any]) -> Iterator[float]:
    """The rows that each step of a query returned or left out."""
    yield plan["Actual Loops"] * (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0))
    for part in plan.get("Plans", ()):
        yield from rows_of(part)


def test_deletions_are_forgotten_after_ten_thousand_changes(url: str, store: PostgresStore) -> None:
    """Sessions that exist are kept, however old their newest change is."""
    chain(store, "old", "a")
    for name in ("one", "two"):
        chain(store, name, "a")
        store.delete(name, expected="a")
    [(last,)] = execute(url, "SELECT last_value FROM tildone.revision")
    execute(url, f"SELECT setval('tildone.revision', {last + 9997})")

    chain(store, "three", "a")
    store.delete("three", expected="a")

    assert [(change.session, change.exists) for change in store.records.changed(0)] == [
        ("old", True),
        ("two", False),
        ("three", False),
    ]


def test_a_database_of_an_older_tildone_has_a_feed(older: str) -> None:
    """The sessions are in the order in which they were last written, and revisions go on, migrated or not."""
    reader = PostgresStore(older, read_only=True)
    before = reader.records.revision()
    unmigrated = reader.records.changed(0)
    writer = PostgresStore(older)
    migrated = writer.records.changed(0)

    assert [(change.session, change.head) for change in unmigrated] == [("long " * 1000, "long " * 1000), ("s", "b")]
    assert migrated == unmigrated
    assert writer.records.revision() == before == unmigrated[-1].revision
    assert reader.records.changed(before) == []
    writer.move_head("s", SessionHead("a", ("b",)), expected="b")
    assert writer.records.changed(before) == reader.records.changed(before) == [SessionChange("s", "a", before + 1)]
    reader.close()
    writer.close()


def test_users_of_the_older_tables_can_write_after_a_migration(server: Server, older: str) -> None:
    """They were granted the tables that existed then. To read the feed, they have to be granted the new one."""
    server.run("CREATE ROLE worker LOGIN")
    rights = "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES"
    try:
        execute(
            older,
            "GRANT USAGE ON SCHEMA tildone TO worker",
            f"GRANT {rights} IN SCHEMA tildone TO worker",
            "GRANT USAGE ON ALL SEQUENCES IN SCHEMA tildone TO worker",
        )
        owner = PostgresStore(older)
        before = owner.records.revision()
        worker = PostgresStore(older.replace("postgres@", "worker@"))
        chain(worker, "s", "c")

        assert owner.records.changed(before) == [SessionChange("s", "c", owner.records.revision())]
        with pytest.raises(StoreError, match="permission denied for table changes"):
            worker.records.revision()
        worker.close()
        owner.close()
    finally:
        execute(older, "DROP OWNED BY worker", "DROP ROLE worker")
