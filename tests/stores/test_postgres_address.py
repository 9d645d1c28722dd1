"""Addresses of PostgreSQL stores: URLs, environment variables, messages without passwords."""

import os
from typing import Any

import pytest

from tests.stores.contract import chain
from tests.stores.postgres import (
    Server,
    database_of,
    execute,
    needs_server,
)
from tildone.base.errors import UsageError

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")

import psycopg

from tests.stores.postgres_stores import setting_of
from tildone.stores.postgres.address import address_of
from tildone.stores.postgres.connections import TimedConnection
from tildone.stores.postgres.store import PostgresStore

pytestmark = needs_server
Opened = list["psycopg.Connection"]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Every connection that is opened during the test."""
    found: Opened = []
    connect_really = TimedConnection.connect

    def connect(*words: Any, **more: Any) -> Any:
        found.append(connect_really(*words, **more))
        return found[-1]

    monkeypatch.setattr(TimedConnection, "connect", connect)
    return found


@pytest.mark.parametrize(
    ("before", "after", "shown_as"),
    [
        ("postgres://", "", "tildone"),
        ("postgresql://", "&application_name=board", "board"),
        ("postgresql://", "&sslmode=disable&connect_timeout=5", "tildone"),
    ],
)
def test_urls_are_parsed_by_libpq(url: str, opened: Opened, before: str, after: str, shown_as: str) -> None:
    """Both schemes, and every parameter."""
    store = PostgresStore(before + url.partition("://")[2] + after)

    assert setting_of(opened[-1], "application_name") == shown_as
    assert setting_of(opened[-1], "client_encoding") == "UTF8"
    store.close()


def test_omitted_parameters_come_from_the_environment(
    server: Server, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in every libpq program, except that names are always sent as UTF-8."""
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
def test_messages_name_the_database_without_the_password(url: str, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_an_invalid_url_is_an_error_without_the_password(url: str) -> None:
    """Nor a part of it: an unescaped character of the password is a common mistake."""
    with pytest.raises(
        UsageError, match="the store's address is not a valid URL; its form is postgresql://USER:PASS"
    ) as told:
        PostgresStore(url)

    assert "sec" not in str(told.value)
    assert told.value.__cause__ is None
