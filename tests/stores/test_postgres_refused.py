"""Databases that cannot be used: wrong address, password, encoding or permissions, read-only, full disk."""

from collections.abc import Iterator

import pytest

from tests.stores.contract import chain, ids, planned
from tests.stores.postgres import (
    Server,
    database_of,
    execute,
    needs_server,
    running_server,
)
from tests.stores.postgres_keeper import GUARDED
from tildone.errors import StoreError
from tildone.log.health import Health

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")

import psycopg

from tests.stores.postgres_stores import flaws
from tildone.stores.postgres.store import PostgresStore

pytestmark = needs_server
PASSWORD = "Sesam-öffne-dich"  # noqa: S105  of a user that lives for a test


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
        with pytest.raises(
            StoreError, match="has the encoding LATIN1; tildone needs a database with the encoding UTF8"
        ):
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


def test_a_user_who_may_not_is_told(server: Server, own_url: str, own_store: PostgresStore) -> None:
    """Neither look nor make, each by the name of what it is about."""
    chain(own_store, "s", "a")
    server.run("CREATE ROLE guest LOGIN")
    guest = own_url.replace("postgres@", "guest@")
    try:
        with pytest.raises(StoreError, match=r"no access to .*: permission denied for schema tildone"):
            PostgresStore(guest)
        execute(
            own_url, "GRANT USAGE ON SCHEMA tildone TO guest", "GRANT SELECT ON ALL TABLES IN SCHEMA tildone TO guest"
        )
        reader = PostgresStore(guest)
        assert ids(reader.history("s")) == ["a"]
        with pytest.raises(StoreError, match=r"no access to .*: permission denied for"):
            reader.append("s", planned("b", "a", "x"))
        reader.close()
        with server.database() as empty, pytest.raises(StoreError, match="permission denied for database"):
            PostgresStore(empty.replace("postgres@", "guest@"))
    finally:
        execute(own_url, "DROP OWNED BY guest", "DROP ROLE guest")
