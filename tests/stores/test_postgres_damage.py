"""Damaged, restored and dropped databases."""

from collections.abc import Iterator

import pytest

from tests.plans import session_on
from tests.stores.contract import chain, ids, planned
from tests.stores.postgres import (
    Server,
    database_of,
    execute,
    needs_server,
)
from tildone.base.errors import HeadMoved, StoreDamaged, UnknownEvent
from tildone.plan.model import Task
from tildone.plan.ops import Append

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")


from tests.stores.postgres_stores import flaws
from tildone.stores.postgres.store import PostgresStore

pytestmark = needs_server


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(url)
    yield opened
    opened.close()


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
    """In every operation that reads it."""
    chain(store, "s", "a")
    execute(url, f"UPDATE tildone.events SET body = '{body}'")  # noqa: S608  our own words

    with pytest.raises(StoreDamaged, match="damaged: not an event of version"):
        list(store.history("s"))
    with pytest.raises(StoreDamaged, match="damaged: not an event of version"):
        list(store.events("s"))


@pytest.mark.parametrize("restore", ["the tables", "the database"])
def test_a_backup_can_be_restored_while_a_store_is_open(
    server: Server, own_url: str, own_store: PostgresStore, restore: str
) -> None:
    """A writer whose head no longer exists gets HeadMoved, reads again and continues."""
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
