"""Connections that are lost between a statement and its acknowledgement: nothing is lost or written twice."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.stores.contract import LONG_ENOUGH, chain, ids, planned
from tests.stores.postgres import (
    Server,
    execute,
    needs_server,
    until,
)
from tests.stores.postgres_line import Cut, Line, line_to
from tildone.errors import HeadMoved, StoreError
from tildone.log.tree import SessionHead

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")

import psycopg

from tildone.stores.postgres.connections import ConnectionPool
from tildone.stores.postgres.store import PostgresStore

pytestmark = needs_server
PASSWORD = "Sesam-öffne-dich"  # noqa: S105  of a user that lives for a test
HELD_UP = "SELECT count(*) FROM pg_locks WHERE NOT granted"
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
    """A store at the other end of a line that can be cut."""
    opened = PostgresStore(line.url(url))
    yield opened
    opened.close()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Everything that a server is asked during the test, whether or not it answers."""
    questions: list[str] = []
    execute_really = psycopg.Connection.execute

    def execute(self: Any, query: Any, *rest: Any) -> Any:
        questions.append(query.decode() if isinstance(query, bytes) else query)
        return execute_really(self, query, *rest)

    monkeypatch.setattr(psycopg.Connection, "execute", execute)
    return questions


@pytest.fixture
def unused_port() -> Iterator[int]:
    """A port that is taken, by somebody who does not answer."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.mark.parametrize("cut", Cut)
def test_an_event_is_written_once_whatever_is_lost_on_the_way(far: PostgresStore, line: Line, cut: Cut) -> None:
    """The question or the answer: it is looked for, and written if it is not there."""
    chain(far, "s", "a")
    line.break_next(cut)

    far.append("s", planned("b", "a", "x"))

    assert line.connections == 2
    assert ids(far.events("s")) == ["a", "b"]
    assert far.session_head("s") == SessionHead("b")


def test_an_event_that_is_written_again_is_not_taken_for_one_whose_answer_was_lost(store: PostgresStore) -> None:
    """Nothing was lost: whoever writes it twice was overtaken by himself."""
    [_, event] = chain(store, "s", "a", "b")

    with pytest.raises(HeadMoved):
        store.append("s", event)


def test_an_event_that_got_through_counts_though_others_came_after(
    far: PostgresStore, line: Line, store: PostgresStore
) -> None:
    """By the time that it is looked for, the head is elsewhere."""
    chain(far, "s", "a")
    line.break_next(Cut.ANSWER, lambda: chain(store, "s", "c"))

    far.append("s", planned("b", "a", "x"))

    assert ids(store.history("s")) == ["c", "b", "a"]


def test_an_event_that_got_through_counts_though_it_was_taken_back(
    far: PostgresStore, line: Line, store: PostgresStore
) -> None:
    """By the time that it is looked for, the head is where it was before; it is not written again."""
    chain(far, "s", "a")
    line.break_next(Cut.ANSWER, lambda: store.move_head("s", SessionHead("a", ("b",)), expected="b"))

    far.append("s", planned("b", "a", "x"))

    assert ids(store.events("s")) == ["a", "b"]
    assert store.session_head("s") == SessionHead("a", ("b",))


def test_a_writer_who_was_overtaken_meanwhile_is_told(far: PostgresStore, line: Line, store: PostgresStore) -> None:
    """What did not get through, and can't any more, is not written."""
    chain(far, "s", "a")
    line.break_next(Cut.REQUEST, lambda: chain(store, "s", "c"))

    with pytest.raises(HeadMoved):
        far.append("s", planned("b", "a", "x"))

    assert ids(store.events("s")) == ["a", "c"]


def test_another_event_of_that_id_is_not_taken_for_it(far: PostgresStore, line: Line, store: PostgresStore) -> None:
    """Somebody else has written it meanwhile, with another text."""
    chain(far, "s", "a")

    def meanwhile() -> None:
        store.append("s", planned("b", "a", "another text"))
        store.move_head("s", SessionHead("a"), expected="b")

    line.break_next(Cut.REQUEST, meanwhile)

    with pytest.raises(StoreError, match="'s' has an event 'b' already"):
        far.append("s", planned("b", "a", "x"))


@pytest.mark.parametrize("cut", Cut)
def test_a_move_is_made_once(far: PostgresStore, line: Line, cut: Cut) -> None:
    chain(far, "s", "a", "b")
    line.break_next(cut)

    far.move_head("s", SessionHead("a", ("b",)), expected="b")

    assert far.session_head("s") == SessionHead("a", ("b",))


def test_a_mover_who_was_overtaken_meanwhile_is_told(far: PostgresStore, line: Line, store: PostgresStore) -> None:
    chain(far, "s", "a", "b")
    line.break_next(Cut.REQUEST, lambda: chain(store, "s", "c"))

    with pytest.raises(HeadMoved):
        far.move_head("s", SessionHead("a", ("b",)), expected="b")

    assert store.session_head("s") == SessionHead("c")


@pytest.mark.parametrize("cut", Cut)
def test_a_session_is_forgotten_once(far: PostgresStore, line: Line, cut: Cut) -> None:
    chain(far, "s", "a", "b")
    line.break_next(cut)

    far.delete("s", expected="b")

    assert far.sessions() == []


def test_a_session_that_goes_on_meanwhile_is_not_forgotten(
    far: PostgresStore, line: Line, store: PostgresStore
) -> None:
    chain(far, "s", "a", "b")
    line.break_next(Cut.REQUEST, lambda: chain(store, "s", "c"))

    with pytest.raises(HeadMoved):
        far.delete("s", expected="b")

    assert ids(store.events("s")) == ["a", "b", "c"]


@pytest.mark.parametrize("cut", Cut)
@pytest.mark.parametrize("word", [b"BEGIN", b"adopt", b"stand", b"COMMIT"])
def test_events_are_taken_over_once(far: PostgresStore, line: Line, cut: Cut, word: bytes) -> None:
    """And counted, though they were there when they were looked for."""
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
def test_what_is_read_is_asked_for_again(
    far: PostgresStore, line: Line, read: Callable[[PostgresStore], object]
) -> None:
    chain(far, "s", "a", "b")
    line.break_next(Cut.ANSWER)

    assert read(far) == "b"


def test_idle_connections_that_were_cut_are_replaced(
    server: Server, url: str, store: PostgresStore, asked: list[str]
) -> None:
    """All at once, however many they were: none is tried that went the same way."""
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


def test_a_server_that_is_away_for_a_while_is_waited_for(
    far: PostgresStore, line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is looked for again and again; nobody is told."""
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


def test_a_server_that_does_not_come_back_is_told(url: str, line: Line) -> None:
    """With its name and that of the database, once patience has ended; and it is not for ever."""
    # Long enough to try again at least once, however busy the machine is.
    store = PostgresStore(line.url(url), timeout=2)
    chain(store, "s", "a")
    line.break_next(Cut.REQUEST, line.close)

    with pytest.raises(StoreError, match=r"cannot reach plans at /.*line\d+: No such file or directory") as caught:
        store.append("s", planned("b", "a", "x"))

    assert isinstance(caught.value.__cause__, psycopg.OperationalError)
    store.close()


def test_a_server_that_is_not_there_is_told_at_once(unused_port: int) -> None:
    """Whoever has never reached it need not wait for it to come back."""
    with pytest.raises(
        StoreError, match=f"cannot reach plans at 127.0.0.1:{unused_port}: Connection refused"
    ) as caught:
        PostgresStore(f"postgresql://me:{PASSWORD}@127.0.0.1:{unused_port}/plans", timeout=1000)

    assert PASSWORD not in str(caught.value)
