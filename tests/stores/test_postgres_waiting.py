"""Waiting for a change with LISTEN and NOTIFY, and the end of stores and processes."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from tests.plans import session_on
from tests.stores.contract import LONG_ENOUGH, chain
from tests.stores.postgres import (
    ended,
    execute,
    needs_server,
    program,
    until,
)
from tildone.errors import StoreError

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")

import psycopg

from tests.stores.postgres_stores import Work
from tildone.stores.postgres import store as postgres
from tildone.stores.postgres.connections import MAX_CONNECTIONS
from tildone.stores.postgres.store import PostgresStore

pytestmark = needs_server
OURS = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tildone'"
LISTENING = f"SELECT pid {OURS} AND query = 'LISTEN tildone'"
CUT_OFF = f"SELECT pg_terminate_backend(pid, 5000) FROM ({LISTENING}) AS listening"  # noqa: S608  our own words
WAITERS = 100


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Everything that is asked of a server during the test."""
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
def store(url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(url)
    yield opened
    opened.close()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks by himself whether anything has happened."""
    monkeypatch.setattr(postgres, "RECHECK_SECONDS", 100 * LONG_ENOUGH)


@pytest.mark.usefixtures("patient")
def test_a_hundred_waiters_need_one_connection_more(url: str, store: PostgresStore) -> None:
    """And all of them wake."""
    chain(store, "s", "a")

    with waiting(store, "a", WAITERS) as woken:
        until(lambda: execute(url, LISTENING) != [])
        [(connections,)] = execute(url, f"SELECT count(*) {OURS}")
        chain(store, "s", "b")
        assert [waiter.result(LONG_ENOUGH) for waiter in woken] == [True] * WAITERS
        assert [thread.name for thread in threading.enumerate()].count("tildone listener") == 1

    assert connections <= MAX_CONNECTIONS + 1


@pytest.mark.usefixtures("patient")
def test_a_waiter_is_told_rather_than_looking(url: str, store: PostgresStore, work: Work) -> None:
    """It asks to begin with, when it begins to hear, and when something has happened here, not elsewhere."""
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
def test_a_waiter_hears_of_other_processes(url: str, store: PostgresStore) -> None:
    session_on(store).call("write_todos", {"mode": "replace", "todos": [{"text": "one"}]})

    with waiting(store, "e0") as [woken], program("toggle", url, 0, 1) as other:
        ended(other)
        assert woken.result(LONG_ENOUGH)
        assert store.session_head("s").head == "0-0"


@pytest.mark.usefixtures("patient")
def test_a_waiter_who_was_cut_off_hears_again(url: str, store: PostgresStore) -> None:
    """And looks then, so that what happened while nobody could tell it is not missed."""
    chain(store, "s", "a")

    with waiting(store, "a") as [woken]:
        for _ in range(3):
            until(lambda: execute(url, LISTENING) != [])
            execute(url, CUT_OFF)
        until(lambda: execute(url, LISTENING) != [])
        # By hand, so that nobody tells of it.
        execute(url, "UPDATE tildone.sessions SET head = NULL")
        execute(url, CUT_OFF)
        assert woken.result(LONG_ENOUGH)


def test_a_waiter_who_can_not_be_told_looks_now_and_then(
    url: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pooler between us and the server, for one, may keep what it tells to itself."""
    monkeypatch.setattr(postgres, "RECHECK_SECONDS", 0.01)
    chain(store, "s", "a")

    with waiting(store, "a") as [woken]:
        until(lambda: execute(url, LISTENING) != [])
        execute(url, "UPDATE tildone.sessions SET head = NULL")
        assert woken.result(LONG_ENOUGH)


@pytest.mark.usefixtures("patient")
def test_closing_a_store_wakes_those_who_wait(url: str, store: PostgresStore) -> None:
    """They are told; the thread and every connection are gone."""
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


def test_a_store_that_is_forgotten_lets_go(url: str) -> None:
    """As if it had been closed, its listener with it."""
    store = PostgresStore(url)
    store.wait("s", None, 0.01)

    del store

    until(lambda: execute(url, f"SELECT count(*) {OURS}") == [(0,)])


@pytest.mark.parametrize("how", ["at once", "waiting", "forgotten"])
def test_a_process_may_end_without_a_word(url: str, how: str) -> None:
    """It ends at once and warns of nothing; every warning is an error there."""
    with program("leave", url, how) as leaving:
        assert ended(leaving) == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are Unix's")
def test_a_forked_process_does_not_use_its_parents_connections(url: str) -> None:
    """Two who talk on one connection get each other's answers. The parent's goes on, unharmed."""
    with program("fork", url) as forking:
        refused, again, *said = ended(forking).splitlines()

    assert refused == again
    assert refused.startswith("StoreError: ")
    assert refused.endswith(" was opened before this process was forked; open it again")
    assert said == ["parent", "the same connections"]


@contextmanager
def waiting(store: PostgresStore, head: str | None, many: int = 1) -> Iterator[list["Future[bool]"]]:
    """Threads that wait, for longer than the test lasts, for a change of session s; the store is closed after it."""
    with ThreadPoolExecutor(many) as pool:
        try:
            yield [pool.submit(store.wait, "s", head, 10 * LONG_ENOUGH) for _ in range(many)]
        finally:
            store.close()
