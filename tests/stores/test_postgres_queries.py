"""How many connections and queries a PostgreSQL store uses, and its change feed beyond the contract."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from threading import Barrier
from typing import Any

import pytest

from tests.plans import session_on
from tests.stores.contract import LONG_ENOUGH, chain, planned
from tests.stores.postgres import Server, database_of, ended, execute, needs_server, program
from tests.suite.waiting import until
from tildone.base import StoreError, UnknownEvent, replace
from tildone.log.store import Store
from tildone.plan.events import Actor, Event, Nudged, PlanChanged, SessionChange, SessionHead
from tildone.plan.model import Task, flat

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")

import psycopg

from tests.stores.postgres_stores import Work, setting_of
from tildone.stores.postgres import connections
from tildone.stores.postgres import connections as listener
from tildone.stores.postgres.connections import MAX_CONNECTIONS, TimedConnection
from tildone.stores.postgres.rows import migrations, query, row_of, session_row
from tildone.stores.postgres.store import PostgresStore

pytestmark = needs_server


OURS = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tildone'"
Opened = list["psycopg.Connection"]


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Every statement that is executed during the test, with its cost."""
    done = Work()
    execute_really = psycopg.Connection.execute

    def execute(self: Any, query: Any, *rest: Any, **more: Any) -> Any:
        cursor = execute_really(self, query, *rest, **more)
        done.statements.append(query.decode())
        done.rows.append(cursor.rowcount)
        return cursor

    monkeypatch.setattr(psycopg.Connection, "execute", execute)
    return done


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Every connection that is opened during the test."""
    found: Opened = []
    connect_really = TimedConnection.connect

    def connect(*words: Any, **more: Any) -> Any:
        found.append(connect_really(*words, **more))
        return found[-1]

    monkeypatch.setattr(TimedConnection, "connect", connect)
    return found


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(url)
    yield opened
    opened.close()


def test_opening_a_store_takes_one_connection_and_one_query(url: str, work: Work) -> None:
    """And no thread."""
    threads = set(threading.enumerate())

    store = PostgresStore(url)

    assert len(work.statements) == 1
    # Threads of earlier tests may have ended meanwhile.
    assert set(threading.enumerate()) <= threads
    assert execute(url, f"SELECT count(*) {OURS}") == [(1,)]
    store.close()


@pytest.mark.parametrize(("usual", "settled"), [("off", "on"), ("on", "on"), ("remote_apply", "remote_apply")])
def test_acknowledged_changes_are_on_disk(own_url: str, opened: Opened, usual: str, settled: str) -> None:
    """Whatever the default of the database is; a stronger setting is left as it is."""
    execute(own_url, f"ALTER DATABASE {database_of(own_url)} SET synchronous_commit = {usual}")

    store = PostgresStore(own_url)

    assert store.durable
    assert setting_of(opened[-1], "synchronous_commit") == settled
    store.close()


def test_the_isolation_level_is_set_explicitly(own_url: str, opened: Opened) -> None:
    """With a default of serializable, a conflict would raise another error."""
    execute(own_url, f"ALTER DATABASE {database_of(own_url)} SET default_transaction_isolation = 'serializable'")

    store = PostgresStore(own_url)

    assert setting_of(opened[-1], "transaction_isolation") == "read committed"
    store.close()


@pytest.mark.parametrize(
    ("patience", "longest"), [(1.5, "1500ms"), (0, "1ms"), (30, "30s"), (float("inf"), "2147483647ms")]
)
def test_the_lock_timeout_follows_the_timeout(url: str, opened: Opened, patience: float, longest: str) -> None:
    store = PostgresStore(url, timeout=patience)

    assert setting_of(opened[-1], "lock_timeout") == longest
    store.close()


def test_a_change_is_one_query(store: PostgresStore, work: Work) -> None:
    """One round trip, in its own transaction."""
    chain(store, "s", "a")
    work.statements.clear()

    store.append("s", planned("b", "a", "x"))
    store.move_head("s", SessionHead("a", ("b",)), expected="b")
    store.delete("s", expected="a")

    assert len(work.statements) == 3


@pytest.mark.parametrize("nudges", [0, 20])
@pytest.mark.parametrize("length", [5, 300])
def test_the_newest_plan_is_one_query(store: PostgresStore, work: Work, length: int, nudges: int) -> None:
    """However long the history is, only the events since that plan are read."""
    store.import_events("s", in_a_row(length), SessionHead(str(length - 1)))
    for number in range(nudges):
        head = store.session_head("s").head
        store.append("s", Event(f"n{number}", head, 1, Actor.TIMER, Nudged(number, number)))
    work.statements.clear()
    work.rows.clear()

    plan = session_on(store).plan

    assert plan.tasks[0].text == str(length - 1)
    assert work.rows == [1, nudges + 1]


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda store: store.sessions(), id="all sessions"),
        pytest.param(lambda store: store.session_head("s"), id="the place"),
        pytest.param(lambda store: list(store.events("other")), id="the events of another session"),
        pytest.param(lambda store: store.leaves("other"), id="the leaves of another session"),
        pytest.param(lambda store: store.append("other", planned("new", "2", "x")), id="an event elsewhere"),
        pytest.param(lambda store: session_on(store, prefix="new").undo(), id="undo"),
        pytest.param(lambda store: list(islice(store.history("s"), 3)), id="the newest three"),
    ],
)
def test_costs_do_not_grow_with_the_length_of_a_session(url: str, work: Work, read: Callable[[Store], object]) -> None:
    """As many queries and rows for a long history as for a short one."""
    asked = []
    for length in (20, 300):
        store = PostgresStore(url)
        chain(store, "other", "0", "1", "2")
        store.import_events("s", in_a_row(length), SessionHead(str(length - 1)))
        work.statements.clear()
        work.rows.clear()

        read(store)

        asked.append((list(work.statements), list(work.rows)))
        for info in store.sessions():
            store.delete(info.name, expected=store.session_head(info.name).head)
        store.close()

    assert asked[0] == asked[1]
    assert asked[0][0]


def test_a_whole_history_is_read_in_few_queries(store: PostgresStore, work: Work) -> None:
    """Each returns more than the one before."""
    events = in_a_row(3000)
    store.import_events("s", events, SessionHead("2999"))
    work.statements.clear()

    backwards, forwards = list(store.history("s")), list(store.events("s"))

    assert backwards == events[::-1]
    assert forwards == events
    assert len(work.statements) <= 12


def test_large_plans_are_read_in_small_batches(store: PostgresStore, work: Work) -> None:
    """No result is much larger than a million bytes, unless a single event is."""
    large = PlanChanged(flat(*(Task("x" * 1000) for _ in range(600))))
    events = [replace(event, fact=large) for event in in_a_row(7)]
    store.import_events("s", events, SessionHead("6"))
    work.rows.clear()

    assert list(store.history("s")) == events[::-1]
    assert list(store.events("s")) == events
    assert work.rows == [1, 2, 2, 2, 1, 2, 2, 2, 1]


def test_deleting_a_session_while_it_is_read_is_an_error(store: PostgresStore) -> None:
    """It does not look like a shorter one."""
    store.import_events("s", in_a_row(1500), SessionHead("1499"))
    history, events = store.history("s"), store.events("s")
    next(history)
    next(events)

    store.delete("s", expected="1499")

    with pytest.raises(UnknownEvent, match="1498"):
        list(history)
    with pytest.raises(StoreError, match="'s' was deleted while it was read"):
        list(events)


def test_threads_share_a_few_connections(url: str, store: PostgresStore) -> None:
    """As many as are needed at once, up to a limit; other threads wait."""
    in_step = Barrier(2 * MAX_CONNECTIONS, timeout=LONG_ENOUGH)

    def write(worker: int) -> int:
        in_step.wait()
        chain(store, f"session {worker}", *map(str, range(20)))
        return int(execute(url, f"SELECT count(*) {OURS}")[0][0])

    with ThreadPoolExecutor(2 * MAX_CONNECTIONS) as pool:
        most = max(pool.map(write, range(2 * MAX_CONNECTIONS)))

    assert 1 <= most <= MAX_CONNECTIONS
    assert [info.events for info in store.sessions()] == [20] * 2 * MAX_CONNECTIONS


def test_idle_connections_are_closed(url: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while; one stays open."""
    with ThreadPoolExecutor(4) as pool, psycopg.connect(url) as holder:
        holder.execute("LOCK TABLE tildone.sessions")
        reading = [pool.submit(store.session_head, "s") for _ in range(4)]
        until(lambda: execute(url, f"SELECT count(*) {OURS} AND wait_event_type = 'Lock'") == [(4,)])
        holder.rollback()
        assert [reader.result() for reader in reading] == [SessionHead()] * 4

    monkeypatch.setattr(connections, "MAX_IDLE_SECONDS", 0.0)
    store.session_head("s")

    until(lambda: execute(url, f"SELECT count(*) {OURS}") == [(1,)])


def in_a_row(length: int) -> list[Event]:
    """Return a history without branches, its events numbered."""
    return [planned(str(number), str(number - 1) if number else None, str(number)) for number in range(length)]


LISTENING = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN tildone'"

MANY = """
INSERT INTO tildone.sessions (name, head, ahead, events, created, updated, newest)
SELECT 'x' || n, head, ahead, events, created, updated, newest FROM tildone.sessions, generate_series(1, 5000) AS n
"""


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiters do not look by themselves."""
    monkeypatch.setattr(listener, "RECHECK_SECONDS", 100 * LONG_ENOUGH)


@pytest.fixture
def older(empty: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database of the schema before revisions, with two sessions."""
    with monkeypatch.context() as before:
        before.setattr(connections, "migrations", lambda: migrations()[:2])
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
