"""Connections that are lost between a statement and its acknowledgement: nothing is lost or written twice."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.fleet.drills.places import Proxy
from tests.stores.contract import LONG_ENOUGH, chain, ids, planned
from tests.stores.postgres import (
    Server,
    database_of,
    execute,
    needs_server,
)
from tests.stores.postgres_line import Cut, Line, line_to
from tests.suite.waiting import until
from tildone.base.errors import HeadMoved, StoreError, StoreUnreachable
from tildone.plan.events import SessionHead

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")

import psycopg

from tildone.stores.postgres.connections import ConnectionPool
from tildone.stores.postgres.store import PostgresStore

pytestmark = needs_server
PASSWORD = "Sesam-öffne-dich"  # noqa: S105  of a user that lives for a test
HELD_UP = "SELECT count(*) FROM pg_locks WHERE NOT granted"
IDLE = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7 AND granted"
EVERYBODY = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'tildone'"


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(url)
    yield opened
    opened.close()


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
