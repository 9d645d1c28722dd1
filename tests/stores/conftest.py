"""Fixtures for every kind of store, each of which can be opened several times."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from shutil import copyfile
from typing import Any

import psycopg
import pytest

from tests.stores.finished_statements import finished_statements
from tests.stores.leases import Fleet, fleet_on_postgres, fleet_on_sqlite
from tests.stores.postgres import EMPTIED, TEMPLATE, Server, needs_server, shared_server
from tests.stores.postgres_stores import Connect, Statements
from tildone.log.store import Store
from tildone.plan.dialects import plan_in_entry
from tildone.stores.memory import MemoryStore
from tildone.stores.pi.store import JsonlStore
from tildone.stores.postgres.connections import TimedConnection
from tildone.stores.postgres.store import PostgresStore
from tildone.stores.sqlite.store import SqliteStore

Opener = Callable[[], Store]


@pytest.fixture(autouse=True)
def _finished_statements() -> Iterator[None]:
    with finished_statements():
        yield


def memory(_request: pytest.FixtureRequest) -> Opener:
    store = MemoryStore()
    return lambda: store


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty store to copy: creating one takes ten times as long."""
    path = tmp_path_factory.mktemp("template") / "plans.db"
    SqliteStore(path).close()
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a SQLite store, which does not exist yet."""
    return tmp_path / "plans.db"


@pytest.fixture
def sqlite_path(sqlite_template: Path, tmp_path: Path) -> Path:
    """The file of an empty store."""
    return Path(copyfile(sqlite_template, tmp_path / "plans.db"))


def sqlite(request: pytest.FixtureRequest) -> Opener:
    path: Path = request.getfixturevalue("sqlite_path")
    return lambda: SqliteStore(path)


def jsonl(request: pytest.FixtureRequest) -> Opener:
    folder: Path = request.getfixturevalue("tmp_path")
    return lambda: JsonlStore(folder / "sessions", plan_in_entry)


def postgres(request: pytest.FixtureRequest) -> Opener:
    url: str = request.getfixturevalue("url")
    return lambda: PostgresStore(url)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The PostgreSQL server that all tests of this process share."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("PG")]:
            patch.delenv(name)
        yield shared_server()


@pytest.fixture
def url(server: Server) -> str:
    """An empty database without other connections. It is reused, because creating one takes long."""
    server.run(*EMPTIED, database=TEMPLATE)
    return server.url(TEMPLATE)


@pytest.fixture
def empty(server: Server) -> str:
    """A new database without a store."""
    return server.create()


@pytest.fixture
def own_url(server: Server, url: str) -> str:
    """A new database that the test may damage. Its template is not in use then."""
    own = server.create(TEMPLATE)
    assert own != url
    return own


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Open stores that are closed at the end of the test."""
    with ExitStack() as opened:
        yield lambda *words, **more: opened.enter_context(closing(PostgresStore(*words, **more)))


@pytest.fixture
def own_store(own_url: str, connect: Connect) -> PostgresStore:
    """A store in a database that the test may damage."""
    return connect(own_url)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Statements:
    """Every statement that is sent to PostgreSQL during the test, and how many rows each that was executed returned."""
    done = Statements()
    execute_really = psycopg.Connection.execute

    def execute(self: Any, query: Any, *rest: Any, **more: Any) -> Any:
        done.statements.append(query.decode() if isinstance(query, bytes) else query)
        cursor = execute_really(self, query, *rest, **more)
        done.rows.append(cursor.rowcount)
        return cursor

    monkeypatch.setattr(psycopg.Connection, "execute", execute)
    return done


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[psycopg.Connection]:
    """Every connection to PostgreSQL that is opened during the test."""
    found: list[psycopg.Connection] = []
    connect_really = TimedConnection.connect

    def connect(*words: Any, **more: Any) -> Any:
        found.append(connect_really(*words, **more))
        return found[-1]

    monkeypatch.setattr(TimedConnection, "connect", connect)
    return found


@pytest.fixture(
    params=[memory, sqlite, jsonl, pytest.param(postgres, marks=needs_server)], ids=lambda kind: str(kind.__name__)
)
def open_store(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Open the store under test: the same sessions each time, through a new object where possible."""
    opened: list[Store] = []
    opener = request.param(request)

    def opened_here() -> Store:
        opened.append(opener())
        return opened[-1]

    yield opened_here
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Opener) -> Store:
    return open_store()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=needs_server)])
def fleet(request: pytest.FixtureRequest) -> Iterator[Fleet]:
    """Leases in a store of each kind that has any."""
    of_file = request.param == "sqlite"
    place = request.getfixturevalue("sqlite_path" if of_file else "url")
    with fleet_on_sqlite(place.parent) if of_file else fleet_on_postgres(place) as fleet:
        yield fleet


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=needs_server)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store of each kind that has leases; a file does not exist yet."""
    return str(tmp_path / "plans.db") if request.param == "sqlite" else str(request.getfixturevalue("url"))
