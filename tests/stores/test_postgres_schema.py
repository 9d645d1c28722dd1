"""Creating and migrating the schema of a PostgreSQL store."""

from contextlib import ExitStack

import pytest

from tests.stores.contract import chain, ids
from tests.stores.postgres import (
    database_of,
    end_input,
    ended,
    execute,
    needs_server,
    next_line,
    program,
)
from tildone.base.errors import StoreDamaged, StoreError, StoreTooNew
from tildone.log.presence import Presence
from tildone.plan.claims import Claimant

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")


from tildone.stores.postgres import schema
from tildone.stores.postgres.rows import migrations
from tildone.stores.postgres.store import PostgresStore

pytestmark = needs_server


def test_processes_that_create_the_same_store_wait_for_each_other(empty: str) -> None:
    """The first creates it; none fails."""
    with ExitStack() as running:
        makers = [running.enter_context(program("make", empty)) for _ in range(3)]
        assert [next_line(maker) for maker in makers] == ["ready"] * 3
        for maker in makers:
            end_input(maker)
        for maker in makers:
            ended(maker)

    assert execute(empty, "SELECT version, name FROM tildone.migrations") == [
        (1, "sessions_and_events"),
        (2, "seen"),
        (3, "revisions"),
        (4, "records"),
        (5, "claims"),
        (6, "fleet"),
    ]


def test_a_database_of_an_older_tildone_is_migrated(
    own_store: PostgresStore, own_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Migrations run in order; the data stay."""
    chain(own_store, "s", "a")
    newer = ((7, "twos", b"CREATE TABLE tildone.two ()"), (8, "threes", b"ALTER TABLE tildone.two RENAME TO three"))
    monkeypatch.setattr(schema, "migrations", lambda: (*migrations(), *newer))

    later = PostgresStore(own_url)

    assert ids(later.history("s")) == ["a"]
    assert execute(own_url, "SELECT version, name FROM tildone.migrations ORDER BY 1")[6:] == [
        (7, "twos"),
        (8, "threes"),
    ]
    assert execute(own_url, "SELECT to_regclass('tildone.three') IS NOT NULL") == [(True,)]
    later.close()


def test_a_database_without_claims_is_migrated_with_all_that_it_has(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tildone before had schema 4; its agents are refused afterwards."""
    present = Presence("claude:s1", "s", beat=1)
    with monkeypatch.context() as before:
        before.setattr(schema, "migrations", lambda: migrations()[:4])
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
    newest = len(migrations())
    monkeypatch.setattr(schema, "migrations", lambda: migrations()[:4])
    with pytest.raises(StoreTooNew, match=f"it has schema {newest}, this one supports up to 4; upgrade tildone"):
        PostgresStore(empty)


def test_a_failed_migration_changes_nothing(own_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Earlier ones are rolled back, too: the older tildone can still use the database."""
    newer = ((7, "twos", b"CREATE TABLE tildone.two ()"), (8, "threes", b"DROP TABLE tildone.nonsense"))
    monkeypatch.setattr(schema, "migrations", lambda: (*migrations(), *newer))

    with pytest.raises(StoreError, match="nonsense"):
        PostgresStore(own_url)

    monkeypatch.undo()
    store = PostgresStore(own_url)
    assert execute(own_url, "SELECT max(version), to_regclass('tildone.two') FROM tildone.migrations") == [(6, None)]
    store.close()


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


def test_an_empty_schema_owned_by_the_user_is_used(empty: str) -> None:
    """Created by an administrator for a user who may not create schemas."""
    role = f"agent_{database_of(empty)}"
    execute(empty, f"CREATE ROLE {role} LOGIN", f"CREATE SCHEMA tildone AUTHORIZATION {role}")
    try:
        store = PostgresStore(empty.replace("postgres@", f"{role}@"))
        chain(store, "s", "a")
        assert ids(store.history("s")) == ["a"]
        store.close()
    finally:
        execute(empty, f"DROP OWNED BY {role}", f"DROP ROLE {role}")
