"""Processes and threads on one PostgreSQL database: crashes, lost connections, waiting, and the end of stores."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import Any

import pytest

from tests.fleet.drills.places import Proxy
from tests.plans import session_on
from tests.stores.contract import LONG_ENOUGH, chain, ids, planned
from tests.stores.postgres import Server, database_of, ended, execute, needs_server, next_line, program, running_server
from tests.stores.postgres_line import Cut, Line, line_to
from tests.stores.postgres_programs import END
from tests.stores.test_sqlite_faults import changed_positions, plan_of
from tests.suite.waiting import until
from tildone.base import HeadMoved, StoreBusy, StoreError, StoreUnreachable
from tildone.plan.events import SessionHead

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")

import psycopg

from tests.stores.postgres_stores import Work, flaws
from tildone.stores.postgres import connections as listener
from tildone.stores.postgres.connections import MAX_CONNECTIONS, ConnectionPool
from tildone.stores.postgres.store import PostgresStore

pytestmark = needs_server


CRASHES = 3
RECOVERING_FAST = ["recovery_init_sync_method=syncfs"] if sys.platform == "linux" else []
HELD_UP = "SELECT count(*) FROM pg_locks WHERE NOT granted"


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(url)
    yield opened
    opened.close()


@pytest.mark.parametrize(("writers", "changes"), [(2, 20), pytest.param(8, 500, marks=pytest.mark.slow)])
def test_concurrent_processes_lose_no_change(url: str, store: PostgresStore, writers: int, changes: int) -> None:
    """Each makes many changes to one plan, as an agent or as a user. None fails, and none undoes another's."""
    todos = [{"text": f"of worker {worker}"} for worker in range(writers)]
    session_on(store).call("write_todos", {"mode": "replace", "todos": todos})

    with ExitStack() as running:
        for writer in [running.enter_context(program("toggle", url, worker, changes)) for worker in range(writers)]:
            ended(writer)

    written = list(store.history("s"))[::-1]
    wanted = [f"{worker}-{number}" for worker in range(writers) for number in range(changes)]
    assert sorted(ids(written)) == sorted(["e0", *wanted])
    for before, after in pairwise(written):
        assert changed_positions(plan_of(before), plan_of(after)) == [int(after.id.partition("-")[0])]
    assert ids(store.events("s")) == ids(written)
    assert flaws(store) == []


@pytest.mark.parametrize("kills", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_a_killed_writer_loses_no_acknowledged_change(url: str, store: PostgresStore, kills: int) -> None:
    """The store is intact, and contains every acknowledged change."""
    with program("killed", url, kills, 20261115) as killing:
        told = ended(killing).split()

    written = ids(store.history("s"))
    print(f"{kills} writers killed: {len(told):,} changes acknowledged, {len(written):,} written")
    assert len(told) >= kills / 2
    assert set(told) <= set(written)
    assert written == ids(store.events("s"))[::-1]
    assert flaws(store) == []


@pytest.mark.slow
def test_a_crashed_server_loses_no_acknowledged_change() -> None:
    """Three crashes: writers and waiters reconnect. Nothing acknowledged is lost, nothing is written twice."""
    with ExitStack() as running:
        server = running.enter_context(running_server(*RECOVERING_FAST))
        server.run("CREATE DATABASE plans")
        url = server.url("plans")
        store = PostgresStore(url)
        waiters = [running.enter_context(program("follow", url)) for _ in range(2)]
        writers = [running.enter_context(program("write", url, worker, 40 * CRASHES)) for worker in range(4)]
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
        store.close()


def test_a_lock_held_too_long_is_reported(url: str) -> None:
    """Reading continues meanwhile, and writing after the lock is released."""
    store = PostgresStore(url, timeout=0.05)
    chain(store, "s", "a")

    with psycopg.connect(url) as holder:
        holder.execute("SELECT FROM tildone.sessions FOR UPDATE")
        with pytest.raises(StoreBusy, match="is in use by another process, for longer than we wait") as caught:
            store.append("s", planned("b", "a", "x"))
        with pytest.raises(StoreBusy):
            store.move_head("s", SessionHead(None), expected="a")
        read = ids(store.history("s"))
    chain(store, "s", "b")

    assert isinstance(caught.value.__cause__, psycopg.errors.LockNotAvailable)
    assert read == ["a"]
    assert ids(store.history("s")) == ["b", "a"]
    store.close()


def test_a_schema_creation_that_takes_too_long_is_reported(empty: str) -> None:
    with psycopg.connect(empty) as holder:
        holder.execute("SELECT pg_advisory_xact_lock(1953260654)")

        with pytest.raises(StoreBusy, match="is in use by another process"):
            PostgresStore(empty, timeout=0.05)


def test_a_writer_waits_for_a_lock(server: Server, url: str, store: PostgresStore) -> None:
    """Without an error, and other threads continue meanwhile: one of them releases the lock."""
    chain(store, "s", "a")

    with psycopg.connect(url) as holder, ThreadPoolExecutor(1) as pool:
        holder.execute("SELECT FROM tildone.sessions FOR UPDATE")
        writing = pool.submit(chain, store, "s", "b")
        until(lambda: server.run(HELD_UP) == [(1,)])
        holder.rollback()
        writing.result()

    assert ids(store.history("s")) == ["b", "a"]


def test_an_exhausted_pool_is_reported(url: str) -> None:
    """Threads wait for a connection until the timeout."""
    store = PostgresStore(url, timeout=0.3)

    with psycopg.connect(url) as holder, ThreadPoolExecutor(20) as pool:
        holder.execute("LOCK TABLE tildone.sessions")
        said = [str(reading.exception()) for reading in [pool.submit(store.session_head, "s") for _ in range(20)]]

    assert {text.split(" plans")[0] for text in said} <= {"all 8 connections to", said[0].split(" plans")[0]}
    assert sum(text.startswith("all 8 connections to plans") for text in said) >= 1
    store.close()


def test_a_server_without_free_connections_is_reported(
    server: Server, own_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried again until the timeout."""
    server.run("CREATE ROLE many LOGIN CONNECTION LIMIT 0")
    execute(own_url, "GRANT USAGE ON SCHEMA tildone TO many", "GRANT SELECT ON ALL TABLES IN SCHEMA tildone TO many")
    crowded = own_url.replace("postgres@", "many@")
    try:
        with pytest.raises(StoreBusy, match="has no free connection: too many connections for role"):
            PostgresStore(crowded, timeout=0.05)
        monkeypatch.setattr(ConnectionPool, "sleep", lambda *_: server.run("ALTER ROLE many CONNECTION LIMIT 1"))
        store = PostgresStore(crowded)
        assert store.sessions() == []
        store.close()
    finally:
        execute(own_url, "DROP OWNED BY many", "DROP ROLE many")


def test_a_store_can_be_closed_during_an_operation(server: Server, url: str, store: PostgresStore) -> None:
    """The operation completes, then its connection is closed."""
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

    with psycopg.connect(url) as holder, program("write", url, "x", 1) as writer:
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
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that is sent to a server during the test, whether or not it is acknowledged."""
    questions: list[str] = []
    execute_really = psycopg.Connection.execute

    def execute(self: Any, query: Any, *rest: Any) -> Any:
        questions.append(query.decode() if isinstance(query, bytes) else query)
        return execute_really(self, query, *rest)

    monkeypatch.setattr(psycopg.Connection, "execute", execute)
    return questions


@pytest.fixture
def unused_port() -> Iterator[int]:
    """A port on which nobody accepts connections."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.mark.parametrize("cut", Cut)
def test_an_append_is_made_once_when_the_connection_is_lost(far: PostgresStore, line: Line, cut: Cut) -> None:
    """Before or after the server executed it: the retry checks, and writes only what is missing."""
    chain(far, "s", "a")
    line.break_next(cut)

    far.append("s", planned("b", "a", "x"))

    assert line.connections == 2
    assert ids(far.events("s")) == ["a", "b"]
    assert far.session_head("s") == SessionHead("b")


def test_a_second_append_of_an_event_is_refused(store: PostgresStore) -> None:
    """Without a lost connection it is not a retry."""
    [_, event] = chain(store, "s", "a", "b")

    with pytest.raises(HeadMoved):
        store.append("s", event)


def test_a_committed_append_succeeds_although_others_followed(
    far: PostgresStore, line: Line, store: PostgresStore
) -> None:
    """When it is retried, the head has moved on."""
    chain(far, "s", "a")
    line.break_next(Cut.ANSWER, lambda: chain(store, "s", "c"))

    far.append("s", planned("b", "a", "x"))

    assert ids(store.history("s")) == ["c", "b", "a"]


def test_a_committed_append_succeeds_although_it_was_undone(
    far: PostgresStore, line: Line, store: PostgresStore
) -> None:
    """When it is retried, the head is its parent again; it is not written twice."""
    chain(far, "s", "a")
    line.break_next(Cut.ANSWER, lambda: store.move_head("s", SessionHead("a", ("b",)), expected="b"))

    far.append("s", planned("b", "a", "x"))

    assert ids(store.events("s")) == ["a", "b"]
    assert store.session_head("s") == SessionHead("a", ("b",))


def test_a_retried_append_fails_if_the_head_moved(far: PostgresStore, line: Line, store: PostgresStore) -> None:
    chain(far, "s", "a")
    line.break_next(Cut.REQUEST, lambda: chain(store, "s", "c"))

    with pytest.raises(HeadMoved):
        far.append("s", planned("b", "a", "x"))

    assert ids(store.events("s")) == ["a", "c"]


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
def test_a_move_is_made_once_when_the_connection_is_lost(far: PostgresStore, line: Line, cut: Cut) -> None:
    chain(far, "s", "a", "b")
    line.break_next(cut)

    far.move_head("s", SessionHead("a", ("b",)), expected="b")

    assert far.session_head("s") == SessionHead("a", ("b",))


def test_a_retried_move_fails_if_the_head_moved(far: PostgresStore, line: Line, store: PostgresStore) -> None:
    chain(far, "s", "a", "b")
    line.break_next(Cut.REQUEST, lambda: chain(store, "s", "c"))

    with pytest.raises(HeadMoved):
        far.move_head("s", SessionHead("a", ("b",)), expected="b")

    assert store.session_head("s") == SessionHead("c")


@pytest.mark.parametrize("cut", Cut)
def test_a_deletion_is_made_once_when_the_connection_is_lost(far: PostgresStore, line: Line, cut: Cut) -> None:
    chain(far, "s", "a", "b")
    line.break_next(cut)

    far.delete("s", expected="b")

    assert far.sessions() == []


def test_a_retried_deletion_fails_if_the_head_moved(far: PostgresStore, line: Line, store: PostgresStore) -> None:
    chain(far, "s", "a", "b")
    line.break_next(Cut.REQUEST, lambda: chain(store, "s", "c"))

    with pytest.raises(HeadMoved):
        far.delete("s", expected="b")

    assert ids(store.events("s")) == ["a", "b", "c"]


@pytest.mark.parametrize("cut", Cut)
@pytest.mark.parametrize("word", [b"BEGIN", b"adopt", b"stand", b"COMMIT"])
def test_an_import_is_made_once_when_the_connection_is_lost(
    far: PostgresStore, line: Line, cut: Cut, word: bytes
) -> None:
    """The count is right although the retry finds the events in the database."""
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


def test_lost_idle_connections_are_replaced(server: Server, url: str, store: PostgresStore, asked: list[str]) -> None:
    """All at once: none of them is tried."""
    with ThreadPoolExecutor(4) as pool, psycopg.connect(url) as holder:
        holder.execute("LOCK TABLE tildone.sessions")
        reading = [pool.submit(store.session_head, "s") for _ in range(4)]
        until(lambda: server.run(HELD_UP) == [(4,)])
        holder.rollback()
        for reader in reading:
            reader.result()

    execute(url, EVERYBODY)
    store.append("s", planned("a", None, "x"))

    assert len([question for question in asked if "tildone.append" in question]) == 2
    assert ids(store.history("s")) == ["a"]


def test_a_store_waits_for_a_server_that_restarts(
    far: PostgresStore, line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It retries without an error."""
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


def test_a_server_that_does_not_return_is_an_error(url: str, line: Line) -> None:
    """After the timeout, with the names of server and database; a later operation may succeed."""
    # Long enough to try again at least once, however busy the machine is.
    store = PostgresStore(line.url(url), timeout=2)
    chain(store, "s", "a")
    line.break_next(Cut.REQUEST, line.close)

    with pytest.raises(StoreError, match=r"cannot reach plans at /.*line\d+: No such file or directory") as caught:
        store.append("s", planned("b", "a", "x"))

    assert isinstance(caught.value.__cause__, psycopg.OperationalError)
    store.close()


def test_a_server_that_was_never_reached_is_an_error_at_once(unused_port: int) -> None:
    with pytest.raises(
        StoreError, match=f"cannot reach plans at 127.0.0.1:{unused_port}: Connection refused"
    ) as caught:
        PostgresStore(f"postgresql://me:{PASSWORD}@127.0.0.1:{unused_port}/plans", timeout=1000)

    assert PASSWORD not in str(caught.value)


def test_connections_that_go_silent_are_given_up(server: Server, url: str) -> None:
    """Their peer acknowledges what is sent, and never answers. The next operation uses new ones."""
    with Proxy.to(server.folder, database_of(url)) as proxy:
        store = PostgresStore(proxy.address, timeout=0.5)
        chain(store, "s", "a")
        proxy.silence()

        with pytest.raises(StoreUnreachable, match="lost the connection"):
            store.session_head("s")

        assert store.session_head("s") == SessionHead("a")
        store.close()


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
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiters do not read the head by themselves."""
    monkeypatch.setattr(listener, "RECHECK_SECONDS", 100 * LONG_ENOUGH)


@pytest.mark.usefixtures("patient")
def test_a_hundred_waiters_share_one_connection(url: str, store: PostgresStore) -> None:
    """All of them wake."""
    chain(store, "s", "a")

    with waiting(store, "a", WAITERS) as woken:
        until(lambda: execute(url, LISTENING) != [])
        [(connections,)] = execute(url, f"SELECT count(*) {OURS}")
        chain(store, "s", "b")
        assert [waiter.result(LONG_ENOUGH) for waiter in woken] == [True] * WAITERS
        assert [thread.name for thread in threading.enumerate()].count("tildone listener") == 1

    assert connections <= MAX_CONNECTIONS + 1


@pytest.mark.usefixtures("patient")
def test_a_waiter_queries_only_when_notified(url: str, store: PostgresStore, work: Work) -> None:
    """At first, when LISTEN is established, and when its own session changes."""
    chain(store, "s", "a")
    other = PostgresStore(url)

    with waiting(store, "a") as [woken]:
        until(lambda: execute(url, LISTENING) != [])
        work.statements.clear()
        chain(other, "elsewhere", "x", "y", "z")
        chain(other, "s", "b")
        assert woken.result(LONG_ENOUGH)

    asked = [statement for statement in work.statements if "CASE WHEN starts_with(s.head" in statement]
    assert len(asked) - 4 <= 3  # four of them were asked to write
    other.close()


@pytest.mark.usefixtures("patient")
def test_a_waiter_is_notified_by_other_processes(url: str, store: PostgresStore) -> None:
    session_on(store).call("write_todos", {"mode": "replace", "todos": [{"text": "one"}]})

    with waiting(store, "e0") as [woken], program("toggle", url, 0, 1) as other:
        ended(other)
        assert woken.result(LONG_ENOUGH)
        assert store.session_head("s").head == "0-0"


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
    monkeypatch.setattr(listener, "RECHECK_SECONDS", 0.01)
    chain(store, "s", "a")

    with waiting(store, "a") as [woken]:
        until(lambda: execute(url, LISTENING) != [])
        execute(url, *MOVED_IN_SILENCE)
        assert woken.result(LONG_ENOUGH)


@pytest.mark.usefixtures("patient")
def test_closing_a_store_wakes_its_waiters(url: str, store: PostgresStore) -> None:
    """With an error; the thread and every connection end."""
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
    """And ends its listener."""
    store = PostgresStore(url)
    store.wait("s", None, 0.01)

    del store

    until(lambda: execute(url, f"SELECT count(*) {OURS}") == [(0,)])


@pytest.mark.parametrize("how", ["at once", "waiting", "forgotten"])
def test_a_process_can_end_without_closing_the_store(url: str, how: str) -> None:
    """It ends at once and without warnings, which are errors there."""
    with program("leave", url, how) as leaving:
        assert ended(leaving) == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are Unix's")
def test_a_forked_process_does_not_use_its_parents_connections(url: str) -> None:
    """The protocol does not allow sharing them. The parent's continue to work."""
    with program("fork", url) as forking:
        refused, again, *said = ended(forking).splitlines()

    assert refused == again
    assert refused.startswith("StoreError: ")
    assert refused.endswith(" was opened before this process was forked; open it again")
    assert said == ["parent", "the same connections"]


@contextmanager
def waiting(store: PostgresStore, head: str | None, many: int = 1) -> Iterator[list["Future[bool]"]]:
    """Threads that wait for a change of session s for longer than the test; the store is closed afterwards."""
    with ThreadPoolExecutor(many) as pool:
        try:
            yield [pool.submit(store.wait, "s", head, 10 * LONG_ENOUGH) for _ in range(many)]
        finally:
            store.close()
