"""PostgreSQL stores: crashes, lost connections, waiting, the end of stores, what queries cost, and the change feed."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import islice
from threading import Barrier
from typing import Any

import psycopg
import pytest

from tests.fleet.drills.places import Proxy
from tests.plans import session_on
from tests.stores.contract import LONG_ENOUGH, chain, ids, planned
from tests.stores.postgres import Server, database_of, execute, needs_server, running_server
from tests.stores.postgres_line import Cut, Line, line_to
from tests.stores.postgres_stores import USE_OF_ALL_TABLES, Connect, Statements, flaws, guest, older_tildone, setting_of
from tests.stores.processes import ended, next_line, started
from tests.stores.programs import END
from tests.suite.waiting import until
from tildone.base import HeadMoved, StoreBusy, StoreError, StoreUnreachable, UnknownEvent, replace
from tildone.log.store import Store
from tildone.plan.events import Actor, Event, Nudged, PlanChanged, SessionChange, SessionHead
from tildone.plan.model import Task, flat
from tildone.stores.postgres import connections
from tildone.stores.postgres.connections import MAX_CONNECTIONS, ConnectionPool
from tildone.stores.postgres.rows import query, row_of, session_row
from tildone.stores.postgres.store import PostgresStore

pytestmark = needs_server


CRASHES = 3
RECOVERING_FAST = ["recovery_init_sync_method=syncfs"] if sys.platform == "linux" else []
HELD_UP = "SELECT count(*) FROM pg_locks WHERE NOT granted"


@pytest.fixture
def store(url: str, connect: Connect) -> PostgresStore:
    return connect(url)


@pytest.mark.slow
def test_a_crashed_server_loses_no_acknowledged_change(connect: Connect) -> None:
    """Three crashes: writers and waiters reconnect. Nothing acknowledged is lost, nothing is written twice."""
    with ExitStack() as running:
        server = running.enter_context(running_server(*RECOVERING_FAST))
        server.run("CREATE DATABASE plans")
        url = server.url("plans")
        store = connect(url)
        waiters = [running.enter_context(started("follow", url)) for _ in range(2)]
        writers = [running.enter_context(started("write", url, worker, 40 * CRASHES)) for worker in range(4)]
        # Whoever has never reached a server does not wait for it: all have got so far.
        assert [next_line(waiter) for waiter in waiters] == ["ready", "ready"]
        told = [next_line(writer) for writer in writers]
        for _ in range(CRASHES):
            told += [next_line(writers[0]) for _ in range(20)]
            server.order("crash", "start")
        for writer in writers:
            told += ended(writer).split()
        chain(store, "s", END)
        followed = [ended(waiter).split() for waiter in waiters]

        written = ids(store.history("s"))[::-1]
        seen = " and ".join(str(len(heads)) for heads in followed)
        print(f"{CRASHES} crashes: {len(told):,} changes acknowledged, {len(written):,} written, {seen} heads seen")
        assert sorted([*told, END]) == sorted(written)
        assert ids(store.events("s")) == written
        assert [heads[-1] for heads in followed] == [END, END]
        for heads in followed:
            places = [written.index(head) for head in heads]
            assert places == sorted(set(places))
        assert flaws(store) == []


def test_a_schema_creation_that_takes_too_long_is_reported(empty: str) -> None:
    with psycopg.connect(empty) as holder:
        holder.execute("SELECT pg_advisory_xact_lock(1953260654)")

        with pytest.raises(StoreBusy, match="is in use by another process"):
            PostgresStore(empty, timeout=0.05)


def test_an_exhausted_pool_is_reported(url: str, connect: Connect) -> None:
    store = connect(url, timeout=0.3)

    with psycopg.connect(url) as holder, ThreadPoolExecutor(20) as pool:
        holder.execute("LOCK TABLE tildone.sessions")
        said = [str(reading.exception()) for reading in [pool.submit(store.session_head, "s") for _ in range(20)]]

    assert {text.split(" plans")[0] for text in said} <= {"all 8 connections to", said[0].split(" plans")[0]}
    assert sum(text.startswith("all 8 connections to plans") for text in said) >= 1


def test_a_server_without_free_connections_is_reported(
    server: Server, own_url: str, monkeypatch: pytest.MonkeyPatch, connect: Connect
) -> None:
    with guest(own_url, *USE_OF_ALL_TABLES, options="CONNECTION LIMIT 0") as crowded:
        with pytest.raises(StoreBusy, match="has no free connection: too many connections for role"):
            PostgresStore(crowded, timeout=0.05)
        monkeypatch.setattr(ConnectionPool, "sleep", lambda *_: server.run("ALTER ROLE guest CONNECTION LIMIT 1"))
        store = connect(crowded)
        assert store.sessions() == []


def test_a_store_can_be_closed_during_an_operation(server: Server, url: str, store: PostgresStore) -> None:
    with psycopg.connect(url) as holder, ThreadPoolExecutor(1) as pool:
        holder.execute("LOCK TABLE tildone.sessions")
        reading = pool.submit(store.session_head, "s")
        until(lambda: server.run(HELD_UP) == [(1,)])
        store.close()
        holder.rollback()
        assert reading.result() == SessionHead()

    until(lambda: server.run("SELECT FROM pg_stat_activity WHERE application_name = 'tildone'") == [])


def test_an_operation_can_be_interrupted(server: Server, url: str, store: PostgresStore) -> None:
    """For example while it waits for a lock; it has no effect later."""
    chain(store, "s", "a")

    with psycopg.connect(url) as holder, started("write", url, "x", 1) as writer:
        holder.execute("SELECT FROM tildone.sessions FOR UPDATE")
        until(lambda: server.run(HELD_UP) == [(1,)])
        writer.send_signal(signal.SIGINT)
        assert writer.stderr is not None
        said = writer.stderr.read()

    assert said.splitlines()[-1] == "KeyboardInterrupt"
    assert ids(store.events("s")) == ["a"]


PASSWORD = "Sesam-öffne-dich"  # noqa: S105  of a user that lives for a test
IDLE = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7 AND granted"
EVERYBODY = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'tildone'"


@pytest.fixture
def line(server: Server) -> Iterator[Line]:
    with line_to(server) as line:
        yield line


@pytest.fixture
def far(url: str, line: Line) -> Iterator[PostgresStore]:
    """A store behind a proxy whose connections can be cut."""
    opened = PostgresStore(line.url(url))
    yield opened
    opened.close()


@pytest.fixture
def unused_port() -> Iterator[int]:
    """A port on which nobody accepts connections."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


Change = Callable[[PostgresStore], object]
CHANGES: dict[str, tuple[Change, list[str], SessionHead]] = {
    "an append": (lambda store: store.append("s", planned("c", "b", "x")), ["a", "b", "c"], SessionHead("c")),
    "a move": (
        lambda store: store.move_head("s", SessionHead("a", ("b",)), expected="b"),
        ["a", "b"],
        SessionHead("a", ("b",)),
    ),
    "a deletion": (lambda store: store.delete("s", expected="b"), [], SessionHead()),
}
"""Changes of a session with the events a and b, and what it has afterwards."""


@pytest.mark.parametrize("cut", Cut)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_made_once_when_the_connection_is_lost(
    far: PostgresStore, line: Line, cut: Cut, change: str
) -> None:
    chain(far, "s", "a", "b")
    line.break_next(cut)
    make, events, head = CHANGES[change]

    make(far)

    assert line.connections == 2
    assert (ids(far.events("s")), far.session_head("s")) == (events, head)


@pytest.mark.parametrize("change", CHANGES)
def test_a_retried_change_fails_if_the_head_moved(
    far: PostgresStore, line: Line, store: PostgresStore, change: str
) -> None:
    chain(far, "s", "a", "b")
    line.break_next(Cut.REQUEST, lambda: chain(store, "s", "other"))

    with pytest.raises(HeadMoved):
        CHANGES[change][0](far)

    assert (ids(store.events("s")), store.session_head("s").head) == (["a", "b", "other"], "other")


@pytest.mark.parametrize(
    ("meanwhile", "events", "head"),
    [
        (lambda store: chain(store, "s", "c"), ["a", "b", "c"], SessionHead("c")),
        (
            lambda store: store.move_head("s", SessionHead("a", ("b",)), expected="b"),
            ["a", "b"],
            SessionHead("a", ("b",)),
        ),
    ],
    ids=["others followed", "it was undone"],
)
def test_a_committed_append_succeeds_although_the_head_has_moved_since(
    far: PostgresStore, line: Line, store: PostgresStore, meanwhile: Change, events: list[str], head: SessionHead
) -> None:
    chain(far, "s", "a")
    line.break_next(Cut.ANSWER, lambda: meanwhile(store))

    far.append("s", planned("b", "a", "x"))

    assert (ids(store.events("s")), store.session_head("s")) == (events, head)


def test_a_second_append_of_an_event_is_refused(store: PostgresStore) -> None:
    """Without a lost connection it is not a retry."""
    [_, event] = chain(store, "s", "a", "b")

    with pytest.raises(HeadMoved):
        store.append("s", event)


def test_a_retried_append_fails_if_the_id_was_taken(far: PostgresStore, line: Line, store: PostgresStore) -> None:
    """By an event of another writer with another text."""
    chain(far, "s", "a")

    def meanwhile() -> None:
        store.append("s", planned("b", "a", "another text"))
        store.move_head("s", SessionHead("a"), expected="b")

    line.break_next(Cut.REQUEST, meanwhile)

    with pytest.raises(StoreError, match="'s' has an event 'b' already"):
        far.append("s", planned("b", "a", "x"))


@pytest.mark.parametrize("cut", Cut)
@pytest.mark.parametrize("word", [b"BEGIN", b"adopt", b"stand", b"COMMIT"])
def test_an_import_is_made_once_when_the_connection_is_lost(
    far: PostgresStore, line: Line, cut: Cut, word: bytes
) -> None:
    theirs = [planned("a", None, "x"), planned("b", "a", "y")]
    line.break_next(cut, word=word)

    new = far.import_events("s", theirs, SessionHead("b"))

    assert line.connections == 2
    assert new == 2
    assert list(far.events("s")) == theirs
    assert far.session_head("s") == SessionHead("b")


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda store: store.session_head("s").head, id="the place"),
        pytest.param(lambda store: next(store.history("s")).id, id="the history"),
        pytest.param(lambda store: ids(store.events("s"))[-1], id="the events"),
        pytest.param(lambda store: store.leaves("s")[0], id="the leaves"),
        pytest.param(lambda store: store.sessions() and "b", id="the sessions"),
        pytest.param(lambda store: store.wait("s", "a", LONG_ENOUGH) and "b", id="a change"),
    ],
)
def test_reads_are_retried(far: PostgresStore, line: Line, read: Callable[[PostgresStore], object]) -> None:
    chain(far, "s", "a", "b")
    line.break_next(Cut.ANSWER)

    assert read(far) == "b"


def use_four_connections(url: str, store: PostgresStore) -> None:
    """Let four threads read at once, each on a connection of its own."""
    with ThreadPoolExecutor(4) as pool, psycopg.connect(url) as holder:
        holder.execute("LOCK TABLE tildone.sessions")
        reading = [pool.submit(store.session_head, "s") for _ in range(4)]
        until(lambda: execute(url, f"SELECT count(*) {OURS} AND wait_event_type = 'Lock'") == [(4,)])
        holder.rollback()
        assert [reader.result() for reader in reading] == [SessionHead()] * 4


def test_lost_idle_connections_are_replaced(url: str, store: PostgresStore, work: Statements) -> None:
    use_four_connections(url, store)
    execute(url, EVERYBODY)
    store.append("s", planned("a", None, "x"))

    assert len([question for question in work.statements if "tildone.append" in question]) == 2
    assert ids(store.history("s")) == ["a"]


def test_a_store_waits_for_a_server_that_restarts(
    far: PostgresStore, line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain(far, "s", "a")
    line.break_next(Cut.REQUEST, line.close)
    pauses = iter(range(5))

    def sleep(_connections: ConnectionPool, _seconds: float) -> None:
        if next(pauses) == 3:
            line.open()

    monkeypatch.setattr(ConnectionPool, "sleep", sleep)
    far.append("s", planned("b", "a", "x"))

    assert next(pauses) == 4
    assert ids(far.history("s")) == ["b", "a"]


def test_a_server_that_does_not_return_is_an_error(url: str, line: Line, connect: Connect) -> None:
    # Long enough to try again at least once, however busy the machine is.
    store = connect(line.url(url), timeout=2)
    chain(store, "s", "a")
    line.break_next(Cut.REQUEST, line.close)

    with pytest.raises(StoreError, match=r"cannot reach plans at /.*line\d+: No such file or directory") as caught:
        store.append("s", planned("b", "a", "x"))

    assert isinstance(caught.value.__cause__, psycopg.OperationalError)


def test_a_server_that_was_never_reached_is_an_error_at_once(unused_port: int) -> None:
    with pytest.raises(
        StoreError, match=f"cannot reach plans at 127.0.0.1:{unused_port}: Connection refused"
    ) as caught:
        PostgresStore(f"postgresql://me:{PASSWORD}@127.0.0.1:{unused_port}/plans", timeout=1000)

    assert PASSWORD not in str(caught.value)


def test_connections_that_go_silent_are_given_up(server: Server, url: str, connect: Connect) -> None:
    """Their peer acknowledges what is sent, and never answers. The next operation uses new ones."""
    with Proxy.to(server.folder, database_of(url)) as proxy:
        store = connect(proxy.address, timeout=0.5)
        chain(store, "s", "a")
        proxy.silence()

        with pytest.raises(StoreUnreachable, match="lost the connection"):
            store.session_head("s")

        assert store.session_head("s") == SessionHead("a")


def test_a_process_that_stops_in_the_middle_of_a_transaction_holds_nobody_up_for_long(
    url: str, store: PostgresStore
) -> None:
    """Its transaction is rolled back, and repeated when it continues."""

    def stop_with_a_lock(connection: psycopg.Connection, attempts: int) -> int:
        if not attempts:
            connection.execute("BEGIN")
            connection.execute("SELECT pg_advisory_xact_lock(7)")
            until(lambda: bool(execute(url, IDLE) == [(0,)]))
        return attempts + len(connection.execute("SELECT 1").fetchall())

    assert store._database.run(stop_with_a_lock) == 2  # noqa: SLF001  as an operation in which the process stops


OURS = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tildone'"
LISTENING = f"SELECT pid {OURS} AND query = 'LISTEN tildone'"
CUT_OFF = f"SELECT pg_terminate_backend(pid, 5000) FROM ({LISTENING}) AS listening"  # noqa: S608  our own words
MOVED_IN_SILENCE = ("SET session_replication_role = replica", "UPDATE tildone.sessions SET head = NULL")
"""Without triggers, so that nobody tells of it."""


WAITERS = 100


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiters do not read the head by themselves."""
    monkeypatch.setattr(connections, "RECHECK_SECONDS", 100 * LONG_ENOUGH)


@pytest.mark.usefixtures("patient")
def test_a_hundred_waiters_share_one_connection(url: str, store: PostgresStore) -> None:
    chain(store, "s", "a")

    with waiting(store, "a", WAITERS) as woken:
        until(lambda: execute(url, LISTENING) != [])
        [(connections,)] = execute(url, f"SELECT count(*) {OURS}")
        chain(store, "s", "b")
        assert [waiter.result(LONG_ENOUGH) for waiter in woken] == [True] * WAITERS
        assert [thread.name for thread in threading.enumerate()].count("tildone listener") == 1

    assert connections <= MAX_CONNECTIONS + 1


@pytest.mark.usefixtures("patient")
def test_a_waiter_queries_only_when_notified(
    url: str, store: PostgresStore, work: Statements, connect: Connect
) -> None:
    """At first, when LISTEN is established, and when its own session changes."""
    chain(store, "s", "a")
    other = connect(url)

    with waiting(store, "a") as [woken]:
        until(lambda: execute(url, LISTENING) != [])
        work.statements.clear()
        chain(other, "elsewhere", "x", "y", "z")
        chain(other, "s", "b")
        assert woken.result(LONG_ENOUGH)

    asked = [statement for statement in work.statements if "CASE WHEN starts_with(s.head" in statement]
    assert len(asked) - 4 <= 3  # four of them were asked to write


@pytest.mark.usefixtures("patient")
def test_a_waiter_survives_a_lost_connection(url: str, store: PostgresStore) -> None:
    """It reads the head after reconnecting, so that no change is missed."""
    chain(store, "s", "a")

    with waiting(store, "a") as [woken]:
        for _ in range(3):
            until(lambda: execute(url, LISTENING) != [])
            execute(url, CUT_OFF)
        until(lambda: execute(url, LISTENING) != [])
        execute(url, *MOVED_IN_SILENCE)
        execute(url, CUT_OFF)
        assert woken.result(LONG_ENOUGH)


def test_a_waiter_without_notifications_polls(url: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection pooler may drop notifications."""
    monkeypatch.setattr(connections, "RECHECK_SECONDS", 0.01)
    chain(store, "s", "a")

    with waiting(store, "a") as [woken]:
        until(lambda: execute(url, LISTENING) != [])
        execute(url, *MOVED_IN_SILENCE)
        assert woken.result(LONG_ENOUGH)


@pytest.mark.usefixtures("patient")
def test_closing_a_store_wakes_its_waiters(url: str, store: PostgresStore) -> None:
    with waiting(store, None) as [woken]:
        until(lambda: execute(url, LISTENING) != [])
        store.close()
        with pytest.raises(StoreError, match="was closed"):
            woken.result(LONG_ENOUGH)

    assert "tildone listener" not in [thread.name for thread in threading.enumerate()]
    until(lambda: execute(url, f"SELECT count(*) {OURS}") == [(0,)])
    with pytest.raises(StoreError, match="was closed"):
        store.session_head("s")
    store.close()


def test_a_garbage_collected_store_closes_its_connections(url: str) -> None:
    store = PostgresStore(url)
    store.wait("s", None, 0.01)

    del store

    until(lambda: execute(url, f"SELECT count(*) {OURS}") == [(0,)])


@pytest.mark.parametrize("how", ["at once", "waiting", "forgotten"])
def test_a_process_can_end_without_closing_the_store(url: str, how: str) -> None:
    """It ends at once and without warnings, which are errors there."""
    with started("leave", url, how) as leaving:
        assert ended(leaving) == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are Unix's")
def test_a_forked_process_does_not_use_its_parents_connections(url: str) -> None:
    """The protocol does not allow sharing them. The parent's continue to work."""
    with started("fork", url) as forking:
        refused, again, *said = ended(forking).splitlines()

    assert refused == again
    assert refused.startswith("StoreError: ")
    assert refused.endswith(" was opened before this process was forked; open it again")
    assert said == ["parent", "the same connections"]


@contextmanager
def waiting_at_once(store: PostgresStore, *waits: Callable[[], bool]) -> Iterator[list["Future[bool]"]]:
    """Threads that wait for longer than the test; the store is closed afterwards."""
    with ThreadPoolExecutor(len(waits)) as pool:
        try:
            yield [pool.submit(wait) for wait in waits]
        finally:
            store.close()


def waiting(store: PostgresStore, head: str | None, many: int = 1) -> AbstractContextManager[list["Future[bool]"]]:
    """Threads that wait for a change of session s."""
    return waiting_at_once(store, *[lambda: store.wait("s", head, 10 * LONG_ENOUGH)] * many)


def waiting_for_any(store: PostgresStore, *others: Callable[[], bool]) -> AbstractContextManager[list["Future[bool]"]]:
    """Threads that wait for any change, and for others."""
    revision = store.records.revision()
    return waiting_at_once(store, lambda: store.records.wait_any(revision, 10 * LONG_ENOUGH), *others)


def test_opening_a_store_takes_one_connection_and_one_query(url: str, work: Statements, connect: Connect) -> None:
    threads = set(threading.enumerate())

    connect(url)

    assert len(work.statements) == 1
    # Threads of earlier tests may have ended meanwhile.
    assert set(threading.enumerate()) <= threads
    assert execute(url, f"SELECT count(*) {OURS}") == [(1,)]


@pytest.mark.parametrize(("usual", "settled"), [("off", "on"), ("on", "on"), ("remote_apply", "remote_apply")])
def test_acknowledged_changes_are_on_disk(
    own_url: str, opened: list[psycopg.Connection], usual: str, settled: str, connect: Connect
) -> None:
    """Whatever the default of the database is; a stronger setting is left as it is."""
    execute(own_url, f"ALTER DATABASE {database_of(own_url)} SET synchronous_commit = {usual}")

    store = connect(own_url)

    assert store.durable
    assert setting_of(opened[-1], "synchronous_commit") == settled


def test_the_isolation_level_is_set_explicitly(
    own_url: str, opened: list[psycopg.Connection], connect: Connect
) -> None:
    """With a default of serializable, a conflict would raise another error."""
    execute(own_url, f"ALTER DATABASE {database_of(own_url)} SET default_transaction_isolation = 'serializable'")

    connect(own_url)

    assert setting_of(opened[-1], "transaction_isolation") == "read committed"


@pytest.mark.parametrize(
    ("patience", "longest"), [(1.5, "1500ms"), (0, "1ms"), (30, "30s"), (float("inf"), "2147483647ms")]
)
def test_the_lock_timeout_follows_the_timeout(
    url: str, opened: list[psycopg.Connection], patience: float, longest: str, connect: Connect
) -> None:
    connect(url, timeout=patience)

    assert setting_of(opened[-1], "lock_timeout") == longest


def test_a_change_is_one_query(store: PostgresStore, work: Statements) -> None:
    chain(store, "s", "a")
    work.statements.clear()

    store.append("s", planned("b", "a", "x"))
    store.move_head("s", SessionHead("a", ("b",)), expected="b")
    store.delete("s", expected="a")

    assert len(work.statements) == 3


@pytest.mark.parametrize("nudges", [0, 20])
@pytest.mark.parametrize("length", [5, 300])
def test_the_newest_plan_is_one_query(store: PostgresStore, work: Statements, length: int, nudges: int) -> None:
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
def test_costs_do_not_grow_with_the_length_of_a_session(
    url: str, work: Statements, read: Callable[[Store], object]
) -> None:
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


def test_a_whole_history_is_read_in_few_queries(store: PostgresStore, work: Statements) -> None:
    events = in_a_row(3000)
    store.import_events("s", events, SessionHead("2999"))
    work.statements.clear()

    backwards, forwards = list(store.history("s")), list(store.events("s"))

    assert backwards == events[::-1]
    assert forwards == events
    assert len(work.statements) <= 12


def test_large_plans_are_read_in_small_batches(store: PostgresStore, work: Statements) -> None:
    """No result is much larger than a million bytes, unless a single event is."""
    large = PlanChanged(flat(*(Task("x" * 1000) for _ in range(600))))
    events = [replace(event, fact=large) for event in in_a_row(7)]
    store.import_events("s", events, SessionHead("6"))
    work.rows.clear()

    assert list(store.history("s")) == events[::-1]
    assert list(store.events("s")) == events
    assert work.rows == [1, 2, 2, 2, 1, 2, 2, 2, 1]


def test_deleting_a_session_while_it_is_read_is_an_error(store: PostgresStore) -> None:
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
    use_four_connections(url, store)

    monkeypatch.setattr(connections, "MAX_IDLE_SECONDS", 0.0)
    store.session_head("s")

    until(lambda: execute(url, f"SELECT count(*) {OURS}") == [(1,)])


def in_a_row(length: int) -> list[Event]:
    """Return a history without branches, its events numbered."""
    return [planned(str(number), str(number - 1) if number else None, str(number)) for number in range(length)]


MANY = """
INSERT INTO tildone.sessions (name, head, ahead, events, created, updated, newest)
SELECT 'x' || n, head, ahead, events, created, updated, newest FROM tildone.sessions, generate_series(1, 5000) AS n
"""


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

    with waiting_for_any(store) as [woken]:
        until(lambda: execute(url, LISTENING) != [])
        execute(url, statement)
        assert woken.result(LONG_ENOUGH)
        assert store.records.changed(before) == [SessionChange("s", head, store.records.revision(), exists)]


@pytest.mark.usefixtures("patient")
def test_waiters_are_notified_by_other_processes(url: str, store: PostgresStore) -> None:
    session_on(store).call("write_todos", {"mode": "replace", "todos": [{"text": "one"}]})
    before = store.records.revision()

    waiters = waiting_for_any(store, lambda: store.wait("s", "e0", 10 * LONG_ENOUGH))
    with waiters as woken, started("toggle", url, 0, 1) as other:
        ended(other)
        assert [waiter.result(LONG_ENOUGH) for waiter in woken] == [True, True]
        assert store.session_head("s").head == "0-0"
        assert store.records.changed(before) == [SessionChange("s", "0-0", store.records.revision())]


@pytest.mark.usefixtures("patient")
def test_a_waiter_for_one_session_is_not_woken_by_others(url: str, store: PostgresStore) -> None:
    """A waiter for any session is, on the same connection."""
    chain(store, "s", "a")

    with waiting_for_any(store, lambda: store.wait("s", "a", 10 * LONG_ENOUGH)) as [anyone, one]:
        until(lambda: len(execute(url, LISTENING)) == 1)
        chain(store, "other", "a")
        assert anyone.result(LONG_ENOUGH)
        assert not one.done()
        chain(store, "s", "b")
        assert one.result(LONG_ENOUGH)


def test_what_changed_is_found_by_indexes(own_url: str, connect: Connect) -> None:
    """However many sessions there are; the server keeps the statistics up to date by itself."""
    store = connect(own_url)
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


def test_a_database_of_an_older_tildone_has_a_feed(empty: str, connect: Connect) -> None:
    """The sessions are in the order in which they were last written, and revisions go on, migrated or not."""
    with older_tildone(2):
        older = PostgresStore(empty)
        for session, event in (("s", "a"), ("long " * 1000, "long " * 1000), ("s", "b")):
            chain(older, session, event)
        older.close()
    reader = connect(empty, read_only=True)
    before = reader.records.revision()
    unmigrated = reader.records.changed(0)
    writer = connect(empty)
    migrated = writer.records.changed(0)

    assert [(change.session, change.head) for change in unmigrated] == [("long " * 1000, "long " * 1000), ("s", "b")]
    assert migrated == unmigrated
    assert writer.records.revision() == before == unmigrated[-1].revision
    assert reader.records.changed(before) == []
    writer.move_head("s", SessionHead("a", ("b",)), expected="b")
    assert writer.records.changed(before) == reader.records.changed(before) == [SessionChange("s", "a", before + 1)]
