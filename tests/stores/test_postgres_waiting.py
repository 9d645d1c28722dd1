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
)
from tests.suite.waiting import until
from tildone.base.errors import StoreError

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")

import psycopg

from tests.stores.postgres_stores import Work
from tildone.stores.postgres import connections as listener
from tildone.stores.postgres.connections import MAX_CONNECTIONS
from tildone.stores.postgres.store import PostgresStore

pytestmark = needs_server
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
def store(url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(url)
    yield opened
    opened.close()


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
