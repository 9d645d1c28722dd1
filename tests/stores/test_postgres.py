"""What a PostgreSQL store promises beyond what every store does: its database, its cost, and other processes."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from threading import Barrier
from typing import Any

import pytest

from tests.plans import session_on
from tests.stores.contract import LONG_ENOUGH, chain, ids, planned
from tests.stores.postgres import (
    Server,
    database_of,
    end_input,
    ended,
    execute,
    needs_server,
    next_line,
    program,
    until,
)
from tildone.core.plan import Task, flat
from tildone.errors import StoreDamaged, StoreError, StoreTooNew, UnknownEvent, UsageError
from tildone.log.events import Actor, Event, Nudged, PlanChanged
from tildone.log.health import Health
from tildone.log.store import Store
from tildone.log.tree import SessionHead
from tildone.value import replace

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")

import psycopg

from tildone.stores.postgres import connections, schema
from tildone.stores.postgres import store as postgres
from tildone.stores.postgres.address import address_of
from tildone.stores.postgres.connections import MAX_CONNECTIONS
from tildone.stores.postgres.queries import migrations
from tildone.stores.postgres.store import PostgresStore

pytestmark = needs_server

OURS = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tildone'"
LISTENING = f"SELECT pid {OURS} AND query = 'LISTEN tildone'"
CUT_OFF = f"SELECT pg_terminate_backend(pid, 5000) FROM ({LISTENING}) AS listening"  # noqa: S608  our own words
WAITERS = 100

Opened = list["psycopg.Connection"]


@dataclass(frozen=True, slots=True)
class Work:
    """What was asked of a server: the statements, and how many rows they gave."""

    statements: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)


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
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Every connection that is opened during the test."""
    found: Opened = []
    connect_really = psycopg.connect

    def connect(*words: Any, **more: Any) -> Any:
        found.append(connect_really(*words, **more))
        return found[-1]

    monkeypatch.setattr(psycopg, "connect", connect)
    return found


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(url)
    yield opened
    opened.close()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks by himself whether anything has happened."""
    monkeypatch.setattr(postgres, "RECHECK_SECONDS", 100 * LONG_ENOUGH)


@pytest.fixture
def own_store(own_url: str) -> Iterator[PostgresStore]:
    """A store in a database that the test may break."""
    opened = PostgresStore(own_url)
    yield opened
    opened.close()


@pytest.fixture
def empty(server: Server) -> Iterator[str]:
    """A database in which nobody has made anything yet."""
    with server.database() as url:
        yield url


def test_opening_a_store_takes_one_connection_and_one_question(url: str, work: Work) -> None:
    """And no thread: a command that is over in a moment pays for nothing else."""
    threads = threading.active_count()

    store = PostgresStore(url)

    assert len(work.statements) == 1
    assert threading.active_count() == threads
    assert execute(url, f"SELECT count(*) {OURS}") == [(1,)]
    store.close()


@pytest.mark.parametrize(("usual", "settled"), [("off", "on"), ("on", "on"), ("remote_apply", "remote_apply")])
def test_what_is_acknowledged_is_on_disk(own_url: str, opened: Opened, usual: str, settled: str) -> None:
    """Whatever is usual in the database; only what is stronger than that stays."""
    execute(own_url, f"ALTER DATABASE {database_of(own_url)} SET synchronous_commit = {usual}")

    store = PostgresStore(own_url)

    assert store.durable
    assert shown(opened[-1], "synchronous_commit") == settled
    store.close()


def test_writers_see_each_other_whatever_is_usual(own_url: str, opened: Opened) -> None:
    """A database may make every transaction serializable; then an overtaken writer would be told something else."""
    execute(own_url, f"ALTER DATABASE {database_of(own_url)} SET default_transaction_isolation = 'serializable'")

    store = PostgresStore(own_url)

    assert shown(opened[-1], "transaction_isolation") == "read committed"
    store.close()


@pytest.mark.parametrize(
    ("patience", "longest"), [(1.5, "1500ms"), (0, "1ms"), (30, "30s"), (float("inf"), "2147483647ms")]
)
def test_nobody_waits_for_a_lock_longer_than_there_is_patience(
    url: str, opened: Opened, patience: float, longest: str
) -> None:
    store = PostgresStore(url, timeout=patience)

    assert shown(opened[-1], "lock_timeout") == longest
    store.close()


def test_a_change_is_one_question(store: PostgresStore, work: Work) -> None:
    """So it takes one round trip, and its own transaction."""
    chain(store, "s", "a")
    work.statements.clear()

    store.append("s", planned("b", "a", "x"))
    store.move_head("s", SessionHead("a", ("b",)), expected="b")
    store.delete("s", expected="a")

    assert len(work.statements) == 3


@pytest.mark.parametrize("nudges", [0, 20])
@pytest.mark.parametrize("length", [5, 300])
def test_the_newest_plan_is_one_question(store: PostgresStore, work: Work, length: int, nudges: int) -> None:
    """However long the history is, no more is read than there is since that plan."""
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
def test_the_length_of_a_session_costs_nothing(url: str, work: Work, read: Callable[[Store], object]) -> None:
    """As many questions, and no longer answers, with a long history as with a short one."""
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


def test_a_whole_history_is_read_in_a_few_questions(store: PostgresStore, work: Work) -> None:
    """Each brings more than the one before."""
    events = in_a_row(3000)
    store.import_events("s", events, SessionHead("2999"))
    work.statements.clear()

    backwards, forwards = list(store.history("s")), list(store.events("s"))

    assert backwards == events[::-1]
    assert forwards == events
    assert len(work.statements) <= 12


def test_large_plans_are_read_a_few_at_a_time(store: PostgresStore, work: Work) -> None:
    """No answer holds much more than a million bytes, unless one event does."""
    large = PlanChanged(flat(*(Task("x" * 1000) for _ in range(600))))
    events = [replace(event, fact=large) for event in in_a_row(7)]
    store.import_events("s", events, SessionHead("6"))
    work.rows.clear()

    assert list(store.history("s")) == events[::-1]
    assert list(store.events("s")) == events
    assert work.rows == [1, 2, 2, 2, 1, 2, 2, 2, 1]


def test_a_session_that_is_removed_while_it_is_read_is_told(store: PostgresStore) -> None:
    """Rather than being taken for a shorter one."""
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
    """As many as are at work at once, and never more than a bound; the others wait their turn."""
    in_step = Barrier(2 * MAX_CONNECTIONS, timeout=LONG_ENOUGH)

    def write(worker: int) -> int:
        in_step.wait()
        chain(store, f"session {worker}", *map(str, range(20)))
        return int(execute(url, f"SELECT count(*) {OURS}")[0][0])

    with ThreadPoolExecutor(2 * MAX_CONNECTIONS) as pool:
        most = max(pool.map(write, range(2 * MAX_CONNECTIONS)))

    assert 1 <= most <= MAX_CONNECTIONS
    assert [info.events for info in store.sessions()] == [20] * 2 * MAX_CONNECTIONS


def test_connections_that_nobody_needs_any_more_are_closed(
    url: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When work has been less for a while; one stays."""
    with ThreadPoolExecutor(4) as pool, psycopg.connect(url) as holder:
        holder.execute("LOCK TABLE tildone.sessions")
        reading = [pool.submit(store.session_head, "s") for _ in range(4)]
        until(lambda: execute(url, f"SELECT count(*) {OURS} AND wait_event_type = 'Lock'") == [(4,)])
        holder.rollback()
        assert [reader.result() for reader in reading] == [SessionHead()] * 4

    monkeypatch.setattr(connections, "MAX_IDLE_SECONDS", 0.0)
    store.session_head("s")

    until(lambda: execute(url, f"SELECT count(*) {OURS}") == [(1,)])


def test_many_who_make_the_same_store_make_one(empty: str) -> None:
    """The first to come makes it, the others wait for that; none is refused."""
    with ExitStack() as running:
        makers = [running.enter_context(program("make", empty)) for _ in range(6)]
        assert [next_line(maker) for maker in makers] == ["ready"] * 6
        for maker in makers:
            end_input(maker)
        for maker in makers:
            ended(maker)

    assert execute(empty, "SELECT version, name FROM tildone.migrations") == [(1, "sessions_and_events")]


def test_a_database_of_an_older_tildone_is_brought_up_to_date(
    own_store: PostgresStore, own_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Step by step, in order; what it holds stays."""
    chain(own_store, "s", "a")
    newer = ((2, "twos", b"CREATE TABLE tildone.two ()"), (3, "threes", b"ALTER TABLE tildone.two RENAME TO three"))
    monkeypatch.setattr(schema, "migrations", lambda: (*migrations(), *newer))

    later = PostgresStore(own_url)

    assert ids(later.history("s")) == ["a"]
    assert execute(own_url, "SELECT version, name FROM tildone.migrations ORDER BY 1")[1:] == [
        (2, "twos"),
        (3, "threes"),
    ]
    assert execute(own_url, "SELECT to_regclass('tildone.three') IS NOT NULL") == [(True,)]
    later.close()


def test_a_step_that_fails_leaves_nothing_behind(own_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor those before it: the older tildone can go on with the database."""
    newer = ((2, "twos", b"CREATE TABLE tildone.two ()"), (3, "threes", b"DROP TABLE tildone.nonsense"))
    monkeypatch.setattr(schema, "migrations", lambda: (*migrations(), *newer))

    with pytest.raises(StoreError, match="nonsense"):
        PostgresStore(own_url)

    monkeypatch.undo()
    store = PostgresStore(own_url)
    assert execute(own_url, "SELECT max(version), to_regclass('tildone.two') FROM tildone.migrations") == [(1, None)]
    store.close()


def test_a_database_of_a_newer_tildone_is_left_alone(own_url: str) -> None:
    """This one can't know what it would break."""
    execute(own_url, "INSERT INTO tildone.migrations (version, name) VALUES (9, 'wonders')")

    with pytest.raises(StoreTooNew, match=r"newer tildone: it has schema 9, this one supports up to 1; upgrade tildone"):
        PostgresStore(own_url)


@pytest.mark.parametrize("theirs", ["CREATE TABLE tildone.theirs ()", "CREATE VIEW tildone.theirs AS SELECT 1"])
def test_a_schema_of_somebody_else_is_left_alone(empty: str, theirs: str) -> None:
    """Though it bears our name."""
    execute(empty, "CREATE SCHEMA tildone", theirs)

    with pytest.raises(StoreDamaged, match="has a schema named tildone that is not a tildone store"):
        PostgresStore(empty)

    assert execute(empty, "SELECT relname FROM pg_class WHERE relnamespace = 'tildone'::regnamespace") == [("theirs",)]


def test_a_schema_that_was_made_for_us_is_used(empty: str) -> None:
    """By somebody who may make schemas, for a user who may not."""
    role = f"agent_{database_of(empty)}"
    execute(empty, f"CREATE ROLE {role} LOGIN", f"CREATE SCHEMA tildone AUTHORIZATION {role}")
    try:
        store = PostgresStore(empty.replace("postgres@", f"{role}@"))
        chain(store, "s", "a")
        assert ids(store.history("s")) == ["a"]
        store.close()
    finally:
        execute(empty, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


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


@pytest.mark.parametrize(
    ("before", "after", "shown_as"),
    [
        ("postgres://", "", "tildone"),
        ("postgresql://", "&application_name=board", "board"),
        ("postgresql://", "&sslmode=disable&connect_timeout=5", "tildone"),
    ],
)
def test_a_url_is_understood_as_libpq_does(url: str, opened: Opened, before: str, after: str, shown_as: str) -> None:
    """Both schemes, and every parameter."""
    store = PostgresStore(before + url.partition("://")[2] + after)

    assert shown(opened[-1], "application_name") == shown_as
    assert shown(opened[-1], "client_encoding") == "UTF8"
    store.close()


def test_what_a_url_leaves_out_comes_from_the_environment(
    server: Server, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for every program that uses libpq; names are sent as UTF-8 all the same."""
    for name, word in {"PGHOST": server.folder, "PGUSER": "postgres", "PGCLIENTENCODING": "LATIN1"}.items():
        monkeypatch.setenv(name, word)

    store = PostgresStore(f"postgresql:///{database_of(url)}")
    chain(store, "ünï 😀", "a")

    assert execute(url, "SELECT name FROM tildone.sessions") == [("ünï 😀",)]
    store.close()


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("postgresql://me:secret@db.example:6543/plans", "plans at db.example:6543"),
        ("postgres://me:secret@db.example/plans?sslmode=require", "plans at db.example"),
        ("postgresql://me:secret@/plans?host=/run/postgresql", "plans at /run/postgresql"),
        ("postgresql://me:secret@one,other:6543/plans", "plans at one,other:,6543"),
        ("postgresql://me:secret@", "me at the local server"),
        ("postgresql://", "the user's own database at the local server"),
        ("postgresql://?service=team", "service team"),
    ],
)
def test_people_are_told_where_without_the_password(url: str, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)

    assert address_of(url, 1).where == where


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:sec@ret@db.example/plans",
        "postgresql://me:sec/ret@db.example/plans",
        "postgresql://me:12/sec@db.example/plans",
        "postgresql://me:sec%ret@db.example/plans",
        "postgresql://me:secret@db.example/plans?nonsense=1",
        "postgresql://me:secret@db.example:port/plans",
        "postgresql://me:secret@[db.example/plans",
        "postgresql://me:secret\ud800@db.example/plans",
    ],
)
def test_a_url_that_makes_no_sense_is_told_without_the_password(url: str) -> None:
    """Nor a part of it: what is wrong is often a sign in the password that has a meaning."""
    with pytest.raises(
        UsageError, match="the store's address is not a valid URL; its form is postgresql://USER:PASS"
    ) as told:
        PostgresStore(url)

    assert "sec" not in str(told.value)
    assert told.value.__cause__ is None


def test_a_healthy_store_says_what_it_is(store: PostgresStore) -> None:
    chain(store, "s", "a", "b")

    what, how = store.check()

    assert (what.health, how.health) == (Health.FINE, Health.FINE)
    assert what.what.startswith("PostgreSQL 1")
    assert what.what.endswith(", schema 1")
    assert how.what == "1 session and 2 events, all intact"


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ("UPDATE tildone.events SET body = '{' WHERE id = 'b'", ["event 'b' of session 's' cannot be decoded"]),
        (
            "UPDATE tildone.events SET at = 7 WHERE id = 'b'",
            ["event 'b' of session 's' does not match its columns"],
        ),
        (
            "UPDATE tildone.events SET snapshot = false WHERE id = 'b'",
            ["event 'b' of session 's' does not match its columns"],
        ),
        (
            "DELETE FROM tildone.events WHERE id = 'b'",
            [
                "event 'c' of session 's' has parent 'b', which is missing",
                "session 's' should have 3 events, but has 2",
                "session 's' has a damaged redo list",
            ],
        ),
        (
            "DELETE FROM tildone.events WHERE id = 'a'",
            [
                "event 'b' of session 's' has parent 'a', which is missing",
                "session 's' should have 3 events, but has 2",
                "session 's' has a head that is missing",
            ],
        ),
        ("UPDATE tildone.sessions SET updated = 7", ["session 's' has wrong creation or update times"]),
        ("UPDATE tildone.sessions SET ahead = '[1]'", ["session 's' has a damaged redo list"]),
        ("UPDATE tildone.sessions SET ahead = '{'", ["session 's' has a damaged redo list"]),
        ("DELETE FROM tildone.sessions", [f"event '{letter}' of no session is there" for letter in "abc"]),
        ("DROP TABLE tildone.events", ["the rest cannot be read: "]),
    ],
)
def test_what_is_wrong_with_a_store_is_found(
    own_url: str, own_store: PostgresStore, damage: str, found: list[str]
) -> None:
    """Each flaw by itself, and what can be done about it."""
    chain(own_store, "s", "a", "b", "c")
    own_store.move_head("s", SessionHead("a", ("b", "c")), expected="c")
    execute(own_url, damage)

    flaws = [finding for finding in own_store.check() if finding.health is not Health.FINE]

    assert [flaw.what[: len(text)] for flaw, text in zip(flaws, found, strict=True)] == found
    assert {flaw.remedy for flaw in flaws} == {"restore the database from a backup"}


def test_many_flaws_are_not_told_one_by_one(url: str, store: PostgresStore) -> None:
    store.import_events("s", [planned(str(number), None, "x") for number in range(1200)], SessionHead("0"))
    execute(url, "UPDATE tildone.events SET body = '{' WHERE number > 900")

    flaws = [finding for finding in store.check() if finding.health is Health.BAD]

    assert flaws[0].what == "event '900' of session 's' cannot be decoded"
    assert (len(flaws), flaws[-1].what) == (21, "there are more errors")


@contextmanager
def waiting(store: PostgresStore, head: str | None, many: int = 1) -> Iterator[list["Future[bool]"]]:
    """Threads that wait, for longer than the test lasts, for a change of session s; the store is closed after it."""
    with ThreadPoolExecutor(many) as pool:
        try:
            yield [pool.submit(store.wait, "s", head, 10 * LONG_ENOUGH) for _ in range(many)]
        finally:
            store.close()


def in_a_row(length: int) -> list[Event]:
    """A history without branches, its events numbered."""
    return [planned(str(number), str(number - 1) if number else None, str(number)) for number in range(length)]


def shown(connection: "psycopg.Connection", setting: str) -> object:
    [shown] = connection.execute(f"SHOW {setting}".encode()).fetchall()
    return shown[0]
