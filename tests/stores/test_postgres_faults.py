"""What becomes of a PostgreSQL store when things go wrong around it: nothing acknowledged is lost, nothing doubled."""

import signal
import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import pytest

from tests.plans import session_on
from tests.stores.contract import LONG_ENOUGH, chain, ids, planned
from tests.stores.postgres import (
    Server,
    database_of,
    ended,
    execute,
    needs_server,
    next_line,
    program,
    running_server,
    until,
)
from tests.stores.postgres_keeper import GUARDED
from tests.stores.postgres_line import Cut, Line, line_to
from tests.stores.postgres_programs import END
from tests.stores.test_sqlite_faults import changed_positions, plan_of
from tildone.core.ops import Append
from tildone.core.plan import Task
from tildone.errors import HeadMoved, StoreBusy, StoreDamaged, StoreError, UnknownEvent
from tildone.log.health import Finding, Health
from tildone.log.tree import SessionHead

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")

import psycopg

from tildone.stores.postgres.connections import Connections
from tildone.stores.postgres.store import PostgresStore

pytestmark = needs_server

WRITERS, CHANGES = 8, 500
KILLS = 100
CRASHES = 3
RECOVERING_FAST = ["recovery_init_sync_method=syncfs"] if sys.platform == "linux" else []
PASSWORD = "Sesam-öffne-dich"  # noqa: S105  of a user that lives for a test
HELD_UP = "SELECT count(*) FROM pg_locks WHERE NOT granted"
EVERYBODY = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'tildone'"


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(url)
    yield opened
    opened.close()


@pytest.fixture
def own_store(own_url: str) -> Iterator[PostgresStore]:
    """A store in a database that the test may break."""
    opened = PostgresStore(own_url)
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

    def rest(_connections: Connections, _seconds: float) -> None:
        if next(pauses) == 3:
            line.open()

    monkeypatch.setattr(Connections, "rest", rest)
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


def test_a_wrong_password_is_not_repeated(server: Server, url: str) -> None:
    """It is said that it is wrong, and not what it was; the right one opens."""
    server.run(f"CREATE ROLE {GUARDED} LOGIN SUPERUSER PASSWORD '{PASSWORD}'")
    guarded = url.replace("postgres@", f"{GUARDED}:%s@")

    with pytest.raises(StoreError, match="password authentication failed for user") as caught:
        PostgresStore(guarded % "wrong-one")
    store = PostgresStore(guarded % PASSWORD.replace("ö", "%C3%B6"))

    assert "wrong-one" not in str(caught.value)
    assert store.sessions() == []
    store.close()
    server.run(f"DROP ROLE {GUARDED}")


def test_a_database_that_is_not_there_is_named(server: Server) -> None:
    with pytest.raises(StoreError, match=f"there is no nowhere at {server.folder}: create the database first"):
        PostgresStore(server.url("nowhere"))


def test_a_user_who_is_not_there_is_named(server: Server) -> None:
    with pytest.raises(
        StoreError, match=f'cannot connect to postgres at {server.folder}: role "nobody" does not exist'
    ):
        PostgresStore(server.url("postgres", "nobody"))


def test_a_database_that_can_not_hold_every_text_is_refused(server: Server) -> None:
    """Before anything is made in it."""
    with server.database("template0", "ENCODING LATIN1") as url:
        with pytest.raises(StoreError, match="has the encoding LATIN1; tildone needs a database with the encoding UTF8"):
            PostgresStore(url)

        assert execute(url, "SELECT to_regnamespace('tildone')") == [(None,)]


def test_a_database_that_may_only_be_read_is_read(own_url: str, own_store: PostgresStore) -> None:
    """Writing says why it can't be done."""
    chain(own_store, "s", "a")
    execute(own_url, f"ALTER DATABASE {database_of(own_url)} SET default_transaction_read_only = on")

    reader = PostgresStore(own_url)

    assert ids(reader.history("s")) == ["a"]
    with pytest.raises(StoreError, match="can't be written: it is read-only"):
        reader.append("s", planned("b", "a", "x"))
    assert [finding.what for finding in flaws(reader)] == ["the database is read-only"]
    reader.close()


def test_a_new_database_that_may_only_be_read_is_named(server: Server) -> None:
    with server.database() as url:
        execute(url, f"ALTER DATABASE {database_of(url)} SET default_transaction_read_only = on")

        with pytest.raises(StoreError, match="can't be written: it is read-only"):
            PostgresStore(url)


@pytest.mark.slow
def test_a_standby_is_read() -> None:
    """A server that only follows another: it is said that it can't be written."""
    with running_server("fsync=off") as server:
        server.run("CREATE DATABASE plans")
        store = PostgresStore(server.url("plans"))
        chain(store, "s", "a")
        server.order("standby")

        assert ids(store.history("s")) == ["a"]
        with pytest.raises(StoreError, match="can't be written: it is read-only"):
            store.append("s", planned("b", "a", "x"))
        assert {finding.health for finding in flaws(store)} == {Health.ODD}
        assert len(flaws(store)) == 2
        store.close()


def test_a_full_disk_is_named(own_url: str, own_store: PostgresStore) -> None:
    """What was written before stays, and writing goes on when there is room."""
    chain(own_store, "s", "a")
    execute(
        own_url,
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE disk_full USING MESSAGE = 'could not extend file'; END $$",
        "CREATE TRIGGER full_disk BEFORE INSERT ON tildone.events EXECUTE FUNCTION full_disk()",
    )

    with pytest.raises(StoreError, match=r"can't grow: the disk is full") as caught:
        own_store.append("s", planned("b", "a", "x"))
    execute(own_url, "DROP TRIGGER full_disk ON tildone.events")
    chain(own_store, "s", "b")

    assert isinstance(caught.value.__cause__, psycopg.errors.DiskFull)
    assert ids(own_store.history("s")) == ["b", "a"]


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
        monkeypatch.setattr(Connections, "rest", lambda *_: server.run("ALTER ROLE many CONNECTION LIMIT 1"))
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


def test_a_user_who_may_not_is_told(server: Server, own_url: str, own_store: PostgresStore) -> None:
    """Neither look nor make, each by the name of what it is about."""
    chain(own_store, "s", "a")
    server.run("CREATE ROLE guest LOGIN")
    guest = own_url.replace("postgres@", "guest@")
    try:
        with pytest.raises(StoreError, match="no access to .*: permission denied for schema tildone"):
            PostgresStore(guest)
        execute(
            own_url, "GRANT USAGE ON SCHEMA tildone TO guest", "GRANT SELECT ON ALL TABLES IN SCHEMA tildone TO guest"
        )
        reader = PostgresStore(guest)
        assert ids(reader.history("s")) == ["a"]
        with pytest.raises(StoreError, match="no access to .*: permission denied for"):
            reader.append("s", planned("b", "a", "x"))
        reader.close()
        with server.database() as empty, pytest.raises(StoreError, match="permission denied for database"):
            PostgresStore(empty.replace("postgres@", "guest@"))
    finally:
        execute(own_url, "DROP OWNED BY guest", "DROP ROLE guest")


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("DROP TABLE tildone.events", 'is damaged: relation "tildone.events" does not exist'),
        ("DROP TABLE tildone.sessions", 'is damaged: relation "tildone.sessions" does not exist'),
        ("ALTER TABLE tildone.events DROP COLUMN parent", "is damaged: column e.parent does not exist"),
        ("DROP SCHEMA tildone CASCADE", 'is damaged: relation "tildone.sessions" does not exist'),
    ],
)
def test_a_store_without_its_tables_is_damaged(own_url: str, own_store: PostgresStore, damage: str, told: str) -> None:
    """Whatever somebody did to it by hand."""
    execute(own_url, damage)

    with pytest.raises(StoreDamaged, match=told):
        own_store.history("s")


def test_a_store_without_its_functions_is_damaged(own_url: str, own_store: PostgresStore) -> None:
    execute(own_url, "DROP FUNCTION tildone.append")

    with pytest.raises(StoreDamaged, match=r"is damaged: function tildone\.append"):
        own_store.append("s", planned("a", None, "x"))


@pytest.mark.parametrize("body", ["{", "null", '{"v": 99}'])
def test_an_event_that_can_not_be_read_is_named(url: str, store: PostgresStore, body: str) -> None:
    """Whichever way it is come across."""
    chain(store, "s", "a")
    execute(url, f"UPDATE tildone.events SET body = '{body}'")  # noqa: S608  our own words

    with pytest.raises(StoreDamaged, match="damaged: not an event of version"):
        list(store.history("s"))
    with pytest.raises(StoreDamaged, match="damaged: not an event of version"):
        list(store.events("s"))


@pytest.mark.parametrize("restore", ["the tables", "the database"])
def test_an_older_backup_may_be_put_back_while_a_store_is_open(
    server: Server, own_url: str, own_store: PostgresStore, restore: str
) -> None:
    """A writer who knows what is no more is told, thinks again, and goes on from what is there."""
    session = session_on(own_store)
    session.change([Append((Task("kept"),))])
    name = database_of(own_url)
    old = f"{name}_old"
    own_store._connections._drop_idle()  # noqa: SLF001  a database that is copied may not be in use
    server.run(f"CREATE DATABASE {old} TEMPLATE {name}")
    session.change([Append((Task("lost"),))])

    if restore == "the database":
        server.run(f"DROP DATABASE {name} WITH (FORCE)", f"ALTER DATABASE {old} RENAME TO {name}")
    else:
        execute(
            own_url, "DELETE FROM tildone.events WHERE id = 'e1'", "UPDATE tildone.sessions SET head = 'e0', events = 1"
        )
        server.run(f"DROP DATABASE {old}")
    with pytest.raises(HeadMoved):
        own_store.append("s", planned("x", "e1", "x"))
    with pytest.raises(UnknownEvent):
        own_store.history("s", "e1")
    session.change([Append((Task("new"),))])

    assert [task.text for task in session_on(own_store).plan.tasks] == ["kept", "new"]
    assert flaws(own_store) == []


def test_a_database_that_was_dropped_begins_anew(server: Server, own_url: str, own_store: PostgresStore) -> None:
    """Once there is one of its name again."""
    chain(own_store, "s", "a", "b")
    name = database_of(own_url)
    server.run(f"DROP DATABASE {name} WITH (FORCE)")
    server.run(f"CREATE DATABASE {name} TEMPLATE template0")

    with pytest.raises(HeadMoved):
        own_store.append("s", planned("c", "b", "x"))
    chain(own_store, "s", "d")

    assert ids(own_store.history("s")) == ["d"]


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


def flaws(store: PostgresStore) -> list[Finding]:
    return [finding for finding in store.check() if finding.health is not Health.FINE]
