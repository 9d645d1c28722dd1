"""Several processes and threads on one database: killed writers, crashes, locks, closing."""

import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise

import pytest

from tests.plans import session_on
from tests.stores.contract import chain, ids, planned
from tests.stores.postgres import (
    Server,
    ended,
    execute,
    needs_server,
    next_line,
    program,
    running_server,
)
from tests.stores.postgres_programs import END
from tests.stores.test_sqlite_faults import changed_positions, plan_of
from tests.suite.waiting import until
from tildone.base.errors import StoreBusy
from tildone.plan.events import SessionHead

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")

import psycopg

from tests.stores.postgres_stores import flaws
from tildone.stores.postgres.connections import ConnectionPool
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
