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
    until,
)
from tests.stores.postgres_programs import END
from tests.stores.test_sqlite_faults import changed_positions, plan_of
from tildone.errors import StoreBusy
from tildone.log.tree import SessionHead

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")

import psycopg

from tests.stores.postgres_stores import flaws
from tildone.stores.postgres.connections import ConnectionPool
from tildone.stores.postgres.store import PostgresStore

pytestmark = needs_server
WRITERS, CHANGES = 8, 500
KILLS = 100
CRASHES = 3
RECOVERING_FAST = ["recovery_init_sync_method=syncfs"] if sys.platform == "linux" else []
HELD_UP = "SELECT count(*) FROM pg_locks WHERE NOT granted"


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(url)
    yield opened
    opened.close()


@pytest.mark.slow
def test_eight_processes_at_once_lose_nothing(url: str, store: PostgresStore) -> None:
    """Each makes 500 changes to one plan, as an agent or as a person. None fails, and none undoes another's."""
    todos = [{"text": f"of worker {worker}"} for worker in range(WRITERS)]
    session_on(store).call("write_todos", {"mode": "replace", "todos": todos})

    with ExitStack() as running:
        for writer in [running.enter_context(program("toggle", url, worker, CHANGES)) for worker in range(WRITERS)]:
            ended(writer)

    written = list(store.history("s"))[::-1]
    print(f"{len(written):,} changes by {WRITERS} processes")
    wanted = [f"{worker}-{number}" for worker in range(WRITERS) for number in range(CHANGES)]
    assert sorted(ids(written)) == sorted(["e0", *wanted])
    for before, after in pairwise(written):
        assert changed_positions(plan_of(before), plan_of(after)) == [int(after.id.partition("-")[0])]
    assert ids(store.events("s")) == ids(written)
    assert flaws(store) == []


@pytest.mark.slow
def test_a_writer_may_be_killed_at_any_moment(url: str, store: PostgresStore) -> None:
    """A hundred times over: the store is whole, and holds every change that a writer was told was written."""
    with program("killed", url, KILLS, 20261115) as killing:
        told = ended(killing).split()

    written = ids(store.history("s"))
    print(f"{KILLS} writers killed: {len(told):,} changes acknowledged, {len(written):,} written")
    assert len(told) >= KILLS / 2
    assert set(told) <= set(written)
    assert written == ids(store.events("s"))[::-1]
    assert flaws(store) == []


@pytest.mark.slow
def test_a_server_may_crash_while_everybody_works() -> None:
    """Three times over: writers and waiters find it again. Nothing acknowledged is lost, nothing is there twice."""
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


def test_a_lock_is_waited_for_and_then_named(url: str) -> None:
    """Reading goes on beside it, and writing after it."""
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


def test_who_makes_a_store_is_waited_for_and_then_named(server: Server) -> None:
    """Somebody is making one, and does not come to an end."""
    with server.database() as url, psycopg.connect(url) as holder:
        holder.execute("SELECT pg_advisory_xact_lock(1953260654)")

        with pytest.raises(StoreBusy, match="is in use by another process"):
            PostgresStore(url, timeout=0.05)


def test_a_writer_has_the_patience_to_outlast_a_lock(server: Server, url: str, store: PostgresStore) -> None:
    """Nobody is told of it, and other threads go on meanwhile: one of them ends the lock."""
    chain(store, "s", "a")

    with psycopg.connect(url) as holder, ThreadPoolExecutor(1) as pool:
        holder.execute("SELECT FROM tildone.sessions FOR UPDATE")
        writing = pool.submit(chain, store, "s", "b")
        until(lambda: server.run(HELD_UP) == [(1,)])
        holder.rollback()
        writing.result()

    assert ids(store.history("s")) == ["b", "a"]


def test_when_all_connections_are_in_use_that_is_said(url: str) -> None:
    """Threads that wait for one have patience, too, and it ends."""
    store = PostgresStore(url, timeout=0.3)

    with psycopg.connect(url) as holder, ThreadPoolExecutor(20) as pool:
        holder.execute("LOCK TABLE tildone.sessions")
        said = [str(reading.exception()) for reading in [pool.submit(store.session_head, "s") for _ in range(20)]]

    assert {text.split(" plans")[0] for text in said} <= {"all 8 connections to", said[0].split(" plans")[0]}
    assert sum(text.startswith("all 8 connections to plans") for text in said) >= 1
    store.close()


def test_a_server_without_room_is_told(server: Server, own_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have room again soon, so it is asked again until patience ends."""
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


def test_a_store_may_be_closed_while_somebody_is_at_work(server: Server, url: str, store: PostgresStore) -> None:
    """What was begun comes to its end, and its connection with it."""
    with psycopg.connect(url) as holder, ThreadPoolExecutor(1) as pool:
        holder.execute("LOCK TABLE tildone.sessions")
        reading = pool.submit(store.session_head, "s")
        until(lambda: server.run(HELD_UP) == [(1,)])
        store.close()
        holder.rollback()
        assert reading.result() == SessionHead()

    until(lambda: server.run("SELECT FROM pg_stat_activity WHERE application_name = 'tildone'") == [])


def test_an_impatient_person_can_interrupt(server: Server, url: str, store: PostgresStore) -> None:
    """Whoever waits for a lock, say; what was interrupted is not done later."""
    chain(store, "s", "a")

    with psycopg.connect(url) as holder, program("write", url, "x", 1) as writer:
        holder.execute("SELECT FROM tildone.sessions FOR UPDATE")
        until(lambda: server.run(HELD_UP) == [(1,)])
        writer.send_signal(signal.SIGINT)
        assert writer.stderr is not None
        said = writer.stderr.read()

    assert said.splitlines()[-1] == "KeyboardInterrupt"
    assert ids(store.events("s")) == ["a"]
