"""PostgreSQL databases: addresses, names, schemas, health, and those that are damaged or cannot be used."""

import tomllib
from pathlib import Path

import psycopg
import pytest

from tests.cli.person import Person
from tests.plans import session_on
from tests.stores.contract import chain, ids, planned
from tests.stores.postgres import EMPTIED, Server, database_of, execute, needs_server, running_server
from tests.stores.postgres_keeper import GUARDED
from tests.stores.postgres_stores import Connect, flaws, guest, older_tildone, setting_of
from tests.stores.processes import run_at_once
from tildone.base import HeadMoved, NotFound, StoreDamaged, StoreError, StoreTooNew, UnknownEvent
from tildone.log.kept import Severity
from tildone.log.presence import Presence
from tildone.plan.claims import Claimant
from tildone.plan.events import SessionHead
from tildone.plan.model import Task
from tildone.plan.ops import Append
from tildone.stores.postgres import connections
from tildone.stores.postgres.rows import migrations
from tildone.stores.postgres.store import PostgresStore

pytestmark = needs_server


@pytest.mark.parametrize(
    ("before", "after", "shown_as"),
    [
        ("postgres://", "", "tildone"),
        ("postgresql://", "&application_name=board", "board"),
        ("postgresql://", "&sslmode=disable&connect_timeout=5", "tildone"),
    ],
)
def test_urls_are_parsed_by_libpq(
    url: str, opened: list[psycopg.Connection], before: str, after: str, shown_as: str, connect: Connect
) -> None:
    connect(before + url.partition("://")[2] + after)

    assert setting_of(opened[-1], "application_name") == shown_as
    assert setting_of(opened[-1], "client_encoding") == "UTF8"


def test_omitted_parameters_come_from_the_environment(
    server: Server, url: str, monkeypatch: pytest.MonkeyPatch, connect: Connect
) -> None:
    """As in every libpq program, except that names are always sent as UTF-8."""
    for name, word in {"PGHOST": server.folder, "PGUSER": "postgres", "PGCLIENTENCODING": "LATIN1"}.items():
        monkeypatch.setenv(name, word)

    store = connect(f"postgresql:///{database_of(url)}")
    chain(store, "ünï 😀", "a")

    assert execute(url, "SELECT name FROM tildone.sessions") == [("ünï 😀",)]


PASSWORD = "Sesam-öffne-dich"  # noqa: S105  of a user that lives for a test


@pytest.fixture
def store(url: str, connect: Connect) -> PostgresStore:
    return connect(url)


def test_a_wrong_password_is_not_in_the_error(server: Server, url: str) -> None:
    server.run(f"CREATE ROLE {GUARDED} LOGIN SUPERUSER PASSWORD '{PASSWORD}'")
    guarded = url.replace("postgres@", f"{GUARDED}:%s@")

    with pytest.raises(StoreError, match="password authentication failed for user") as caught:
        PostgresStore(guarded % "wrong-one")
    store = PostgresStore(guarded % PASSWORD.replace("ö", "%C3%B6"))

    assert "wrong-one" not in str(caught.value)
    assert store.sessions() == []
    store.close()
    server.run(f"DROP ROLE {GUARDED}")


def test_a_missing_database_or_user_is_an_error(server: Server) -> None:
    missing = {
        server.url("nowhere"): f"there is no nowhere at {server.folder}: create the database first",
        server.url(
            "postgres", "nobody"
        ): f'cannot connect to postgres at {server.folder}: role "nobody" does not exist',
    }
    for url, told in missing.items():
        with pytest.raises(StoreError, match=told):
            PostgresStore(url)


def test_a_database_of_another_encoding_is_refused(server: Server) -> None:
    url = server.create("template0", "ENCODING LATIN1")

    with pytest.raises(StoreError, match="has the encoding LATIN1; tildone needs a database with the encoding UTF8"):
        PostgresStore(url)

    assert execute(url, "SELECT to_regnamespace('tildone')") == [(None,)]


def test_a_read_only_database_can_be_read(own_url: str, own_store: PostgresStore, connect: Connect) -> None:
    chain(own_store, "s", "a")
    execute(own_url, f"ALTER DATABASE {database_of(own_url)} SET default_transaction_read_only = on")

    reader = connect(own_url)

    assert ids(reader.history("s")) == ["a"]
    with pytest.raises(StoreError, match="can't be written: it is read-only"):
        reader.append("s", planned("b", "a", "x"))
    assert [finding.what for finding in flaws(reader)] == ["the database is read-only"]


def test_an_empty_read_only_database_is_an_error(empty: str) -> None:
    execute(empty, f"ALTER DATABASE {database_of(empty)} SET default_transaction_read_only = on")

    with pytest.raises(StoreError, match="can't be written: it is read-only"):
        PostgresStore(empty)


@pytest.mark.slow
def test_a_standby_can_be_read(connect: Connect) -> None:
    with running_server("fsync=off") as server:
        server.run("CREATE DATABASE plans")
        store = connect(server.url("plans"))
        chain(store, "s", "a")
        server.order("standby")

        assert ids(store.history("s")) == ["a"]
        with pytest.raises(StoreError, match="can't be written: it is read-only"):
            store.append("s", planned("b", "a", "x"))
        assert {finding.severity for finding in flaws(store)} == {Severity.WARNING}
        assert len(flaws(store)) == 2


def test_a_full_disk_is_an_error(own_url: str, own_store: PostgresStore) -> None:
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


def test_missing_privileges_are_an_error(empty: str, own_url: str, own_store: PostgresStore) -> None:
    chain(own_store, "s", "a")
    with guest(own_url) as url:
        with pytest.raises(StoreError, match=r"no access to .*: permission denied for schema tildone"):
            PostgresStore(url)
        execute(
            own_url, "GRANT USAGE ON SCHEMA tildone TO guest", "GRANT SELECT ON ALL TABLES IN SCHEMA tildone TO guest"
        )
        reader = PostgresStore(url)
        assert ids(reader.history("s")) == ["a"]
        with pytest.raises(StoreError, match=r"no access to .*: permission denied for"):
            reader.append("s", planned("b", "a", "x"))
        reader.close()
        with pytest.raises(StoreError, match="permission denied for database"):
            PostgresStore(empty.replace("postgres@", "guest@"))


def test_opening_read_only_does_not_create_a_store(empty: str, connect: Connect) -> None:
    with pytest.raises(NotFound, match="there is no store in "):
        PostgresStore(empty, read_only=True)

    assert execute(empty, "SELECT to_regnamespace('tildone')") == [(None,)]
    writer = connect(empty)
    chain(writer, "s", "a")
    reader = connect(empty, read_only=True)
    assert ids(reader.history("s")) == ["a"]


def test_characters_that_postgresql_rejects_are_escaped(url: str) -> None:
    store = PostgresStore(url)
    store.append("nul \0 half \ud83d back\\slash", planned("\udfff", None, "x"))
    store.close()

    assert execute(url, "SELECT name, head FROM tildone.sessions") == [(r"nul \0 half \ud83d back\\slash", r"\udfff")]


@pytest.mark.parametrize("long", ["ü" * 5000, "\ud800" * 5000, "x" * 100_000], ids=["wide", "escaped", "very long"])
def test_names_and_ids_may_be_longer_than_an_index_allows(url: str, long: str, connect: Connect) -> None:
    store = connect(url)
    chain(store, long, long + "1", long + "2")
    chain(store, long + "!", "a")
    store.move_head(long, SessionHead(long + "1", (long + "2",)), expected=long + "2")
    store.import_events(long, [planned(long + "3", long + "1", "x")], SessionHead(long + "3"))

    assert store.session_head(long) == SessionHead(long + "3")
    assert ids(store.history(long)) == [long + "3", long + "1"]
    assert store.leaves(long) == [long + "2", long + "3"]
    assert {info.name: info.events for info in store.sessions()} == {long: 3, long + "!": 1}
    assert store.wait(long, "elsewhere", 1)
    store.delete(long, expected=long + "3")
    assert [info.name for info in store.sessions()] == [long + "!"]


def test_processes_that_create_the_same_store_wait_for_each_other(empty: str) -> None:
    run_at_once("make", [(empty,)] * 3)

    assert execute(empty, "SELECT version, name FROM tildone.migrations") == [
        (1, "sessions_and_events"),
        (2, "seen"),
        (3, "revisions"),
        (4, "records"),
        (5, "claims"),
        (6, "fleet"),
    ]


def test_a_database_of_an_older_tildone_is_migrated(
    own_store: PostgresStore, own_url: str, monkeypatch: pytest.MonkeyPatch, connect: Connect
) -> None:
    chain(own_store, "s", "a")
    newer = ((7, "twos", b"CREATE TABLE tildone.two ()"), (8, "threes", b"ALTER TABLE tildone.two RENAME TO three"))
    monkeypatch.setattr(connections, "migrations", lambda: (*migrations(), *newer))

    later = connect(own_url)

    assert ids(later.history("s")) == ["a"]
    assert execute(own_url, "SELECT version, name FROM tildone.migrations ORDER BY 1")[6:] == [
        (7, "twos"),
        (8, "threes"),
    ]
    assert execute(own_url, "SELECT to_regclass('tildone.three') IS NOT NULL") == [(True,)]


def test_a_database_without_claims_is_migrated_with_all_that_it_has(empty: str) -> None:
    """The tildone before had schema 4; its agents are refused afterwards."""
    present = Presence("claude:s1", "s", beat=1)
    with older_tildone(4):
        older = PostgresStore(empty)
        chain(older, "s", "a", "b")
        older.records.set_seen("s", "claude", "a")
        older.records.beat(present)
        older.close()

    store = PostgresStore(empty)
    claim = store.records.claim("s", 1, Claimant("claude:s1"), 60_000)

    assert (ids(store.history("s")), store.records.seen("s", "claude")) == (["b", "a"], "a")
    assert list(store.records.presences()) == [present]
    assert (claim.epoch, claim.is_held) == (1, True)
    store.close()
    newer = f"it has schema {len(migrations())}, this one supports up to 4; upgrade tildone"
    with older_tildone(4), pytest.raises(StoreTooNew, match=newer):
        PostgresStore(empty)


def test_a_failed_migration_changes_nothing(own_url: str, monkeypatch: pytest.MonkeyPatch, connect: Connect) -> None:
    newer = ((7, "twos", b"CREATE TABLE tildone.two ()"), (8, "threes", b"DROP TABLE tildone.nonsense"))
    monkeypatch.setattr(connections, "migrations", lambda: (*migrations(), *newer))

    with pytest.raises(StoreError, match="nonsense"):
        PostgresStore(own_url)

    monkeypatch.undo()
    connect(own_url)
    assert execute(own_url, "SELECT max(version), to_regclass('tildone.two') FROM tildone.migrations") == [(6, None)]


def test_a_database_of_a_newer_tildone_is_refused(own_url: str) -> None:
    execute(own_url, "INSERT INTO tildone.migrations (version, name) VALUES (9, 'wonders')")

    with pytest.raises(
        StoreTooNew, match=r"newer tildone: it has schema 9, this one supports up to 6; upgrade tildone"
    ):
        PostgresStore(own_url)


@pytest.mark.parametrize("theirs", ["CREATE TABLE tildone.theirs ()", "CREATE VIEW tildone.theirs AS SELECT 1"])
def test_a_foreign_schema_of_the_same_name_is_refused(empty: str, theirs: str) -> None:
    execute(empty, "CREATE SCHEMA tildone", theirs)

    with pytest.raises(StoreDamaged, match="has a schema named tildone that is not a tildone store"):
        PostgresStore(empty)

    assert execute(empty, "SELECT relname FROM pg_class WHERE relnamespace = 'tildone'::regnamespace") == [("theirs",)]


def test_an_empty_schema_owned_by_the_user_is_used(empty: str, connect: Connect) -> None:
    """Created by an administrator for a user who may not create schemas."""
    with guest(empty, "CREATE SCHEMA tildone AUTHORIZATION guest") as url:
        store = connect(url)
        chain(store, "s", "a")
        assert ids(store.history("s")) == ["a"]


def test_a_store_without_its_functions_and_tables_is_damaged(own_url: str, own_store: PostgresStore) -> None:
    execute(own_url, "DROP FUNCTION tildone.append")
    with pytest.raises(StoreDamaged, match=r"is damaged: function tildone\.append"):
        own_store.append("s", planned("a", None, "x"))

    for damage, told in (
        ("ALTER TABLE tildone.events DROP COLUMN parent", "is damaged: column e.parent does not exist"),
        ("DROP TABLE tildone.events", 'is damaged: relation "tildone.events" does not exist'),
        ("DROP TABLE tildone.sessions CASCADE", 'is damaged: relation "tildone.sessions" does not exist'),
        ("DROP SCHEMA tildone CASCADE", 'is damaged: relation "tildone.sessions" does not exist'),
    ):
        execute(own_url, damage)
        with pytest.raises(StoreDamaged, match=told):
            own_store.history("s")


@pytest.mark.parametrize("body", ["{", "null", '{"v": 99}'])
def test_an_undecodable_event_is_an_error(url: str, store: PostgresStore, body: str) -> None:
    chain(store, "s", "a")
    execute(url, f"UPDATE tildone.events SET body = '{body}'")  # noqa: S608  our own words

    for read in (store.history, store.events):
        with pytest.raises(StoreDamaged, match="damaged: not an event of version"):
            list(read("s"))


@pytest.mark.parametrize("restore", ["the tables", "the database"])
def test_a_backup_can_be_restored_while_a_store_is_open(
    server: Server, own_url: str, own_store: PostgresStore, restore: str
) -> None:
    session = session_on(own_store)
    session.change([Append((Task("kept"),))])
    name = database_of(own_url)
    old = f"{name}_old"
    own_store._database.connections._drop_idle()  # noqa: SLF001  a database that is copied may not be in use
    server.run(f"CREATE DATABASE {old} TEMPLATE {name}")
    session.change([Append((Task("lost"),))])

    if restore == "the database":
        server.run(f"DROP DATABASE {name} WITH (FORCE)", f"ALTER DATABASE {old} RENAME TO {name}")
    else:
        execute(
            own_url, "DELETE FROM tildone.events WHERE id = 'e1'", "UPDATE tildone.sessions SET head = 'e0', events = 1"
        )
    with pytest.raises(HeadMoved):
        own_store.append("s", planned("x", "e1", "x"))
    with pytest.raises(UnknownEvent):
        own_store.history("s", "e1")
    session.change([Append((Task("new"),))])

    assert [task.text for task in session_on(own_store).plan.tasks] == ["kept", "new"]
    assert flaws(own_store) == []


def test_a_dropped_database_can_be_created_again(server: Server, own_url: str, own_store: PostgresStore) -> None:
    chain(own_store, "s", "a", "b")
    name = database_of(own_url)
    server.run(f"DROP DATABASE {name} WITH (FORCE)")
    server.run(f"CREATE DATABASE {name} TEMPLATE template0")

    with pytest.raises(HeadMoved):
        own_store.append("s", planned("c", "b", "x"))
    chain(own_store, "s", "d")

    assert ids(own_store.history("s")) == ["d"]


def test_doctor_creates_nothing_in_an_empty_database(empty: str, tmp_path: Path) -> None:
    """That there are no plans yet is no problem, neither for doctor nor for a hook that it probes."""
    person = Person(tmp_path, tmp_path / "home")
    (tmp_path / ".git").mkdir()
    person.environ["TILDONE_STORE"] = empty
    person.says("install", "claude", "--no-mcp", "--no-check")

    answer = person.run("doctor", "--json")

    assert answer.code == 0, answer
    found = {each["name"]: each["message"] for each in answer.json["checks"]}
    assert found["store"].startswith("there is no store in ")
    assert found["agents"].startswith("Claude Code: hooks and status line answer")
    assert execute(empty, "SELECT to_regnamespace('tildone')") == [(None,)]


def test_the_check_of_a_healthy_store(store: PostgresStore) -> None:
    chain(store, "s", "a", "b")

    what, how = store.check()

    assert (what.severity, how.severity) == (Severity.OK, Severity.OK)
    assert what.what.startswith("PostgreSQL 1")
    assert what.what.endswith(", schema 6")
    assert how.what == "1 session and 2 events, all intact"


DAMAGES = tomllib.loads(Path(__file__).with_name("damages.toml").read_text(encoding="utf-8"))["postgresql"]


def test_the_check_finds_every_kind_of_damage(own_url: str, own_store: PostgresStore) -> None:
    for damage, found in DAMAGES.items():
        execute(own_url, *EMPTIED[1:])
        chain(own_store, "s", "a", "b", "c")
        own_store.move_head("s", SessionHead("a", ("b", "c")), expected="c")
        execute(own_url, damage)

        flaws = [finding for finding in own_store.check() if finding.severity is not Severity.OK]

        assert [flaw.what[: len(text)] for flaw, text in zip(flaws, found, strict=True)] == found, damage
        assert {flaw.remedy for flaw in flaws} == {"restore the database from a backup"}, damage


def test_only_the_first_errors_are_reported(url: str, store: PostgresStore) -> None:
    store.import_events("s", [planned(str(number), None, "x") for number in range(1200)], SessionHead("0"))
    execute(url, "UPDATE tildone.events SET body = '{' WHERE number > 900")

    flaws = [finding for finding in store.check() if finding.severity is Severity.ERROR]

    assert flaws[0].what == "event '900' of session 's' cannot be decoded"
    assert (len(flaws), flaws[-1].what) == (21, "there are more errors")
