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
from tildone.base.errors import NotFound, StoreError
from tildone.log.kept import Severity

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


def test_a_wrong_password_is_not_in_the_error(server: Server, url: str) -> None:
    """The right one opens the store."""
    server.run(f"CREATE ROLE {GUARDED} LOGIN SUPERUSER PASSWORD '{PASSWORD}'")
    guarded = url.replace("postgres@", f"{GUARDED}:%s@")

    with pytest.raises(StoreError, match="password authentication failed for user") as caught:
        PostgresStore(guarded % "wrong-one")
    store = PostgresStore(guarded % PASSWORD.replace("ö", "%C3%B6"))

    assert "wrong-one" not in str(caught.value)
    assert store.sessions() == []
    store.close()
    server.run(f"DROP ROLE {GUARDED}")


def test_a_missing_database_is_an_error(server: Server) -> None:
    with pytest.raises(StoreError, match=f"there is no nowhere at {server.folder}: create the database first"):
        PostgresStore(server.url("nowhere"))


def test_a_missing_user_is_an_error(server: Server) -> None:
    with pytest.raises(
        StoreError, match=f'cannot connect to postgres at {server.folder}: role "nobody" does not exist'
    ):
        PostgresStore(server.url("postgres", "nobody"))


def test_a_database_of_another_encoding_is_refused(server: Server) -> None:
    """Nothing is created in it."""
    url = server.create("template0", "ENCODING LATIN1")

    with pytest.raises(StoreError, match="has the encoding LATIN1; tildone needs a database with the encoding UTF8"):
        PostgresStore(url)

    assert execute(url, "SELECT to_regnamespace('tildone')") == [(None,)]


def test_a_read_only_database_can_be_read(own_url: str, own_store: PostgresStore) -> None:
    """Writing raises an error with the reason."""
    chain(own_store, "s", "a")
    execute(own_url, f"ALTER DATABASE {database_of(own_url)} SET default_transaction_read_only = on")

    reader = PostgresStore(own_url)

    assert ids(reader.history("s")) == ["a"]
    with pytest.raises(StoreError, match="can't be written: it is read-only"):
        reader.append("s", planned("b", "a", "x"))
    assert [finding.what for finding in flaws(reader)] == ["the database is read-only"]
    reader.close()


def test_an_empty_read_only_database_is_an_error(empty: str) -> None:
    execute(empty, f"ALTER DATABASE {database_of(empty)} SET default_transaction_read_only = on")

    with pytest.raises(StoreError, match="can't be written: it is read-only"):
        PostgresStore(empty)


@pytest.mark.slow
def test_a_standby_can_be_read() -> None:
    """Writing raises an error with the reason."""
    with running_server("fsync=off") as server:
        server.run("CREATE DATABASE plans")
        store = PostgresStore(server.url("plans"))
        chain(store, "s", "a")
        server.order("standby")

        assert ids(store.history("s")) == ["a"]
        with pytest.raises(StoreError, match="can't be written: it is read-only"):
            store.append("s", planned("b", "a", "x"))
        assert {finding.severity for finding in flaws(store)} == {Severity.WARNING}
        assert len(flaws(store)) == 2
        store.close()


def test_a_full_disk_is_an_error(own_url: str, own_store: PostgresStore) -> None:
    """Earlier changes stay, and writing continues when there is space again."""
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


def test_missing_privileges_are_an_error(server: Server, empty: str, own_url: str, own_store: PostgresStore) -> None:
    """The error names the object concerned."""
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
        with pytest.raises(StoreError, match="permission denied for database"):
            PostgresStore(empty.replace("postgres@", "guest@"))
    finally:
        execute(own_url, "DROP OWNED BY guest", "DROP ROLE guest")


def test_opening_read_only_does_not_create_a_store(empty: str) -> None:
    """A reader leaves an empty database empty; a store that exists is opened."""
    with pytest.raises(NotFound, match="there is no store in "):
        PostgresStore(empty, read_only=True)

    assert execute(empty, "SELECT to_regnamespace('tildone')") == [(None,)]
    writer = PostgresStore(empty)
    chain(writer, "s", "a")
    reader = PostgresStore(empty, read_only=True)
    assert ids(reader.history("s")) == ["a"]
    reader.close()
    writer.close()
