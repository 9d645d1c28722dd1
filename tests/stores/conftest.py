"""The stores there are, each as something that can be opened more than once on the same place."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tildone.log.store import Store
from tildone.stores.memory import MemoryStore
from tildone.stores.sqlite import SqliteStore

pytest.register_assert_rewrite("tests.stores.contract")

Opener = Callable[[], Store]


def memory(_folder: Path) -> Opener:
    store = MemoryStore()
    return lambda: store


def sqlite(folder: Path) -> Opener:
    return lambda: SqliteStore(folder / "plans.db")


@pytest.fixture(params=[memory, sqlite], ids=lambda kind: str(kind.__name__))
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens the store under test: the same sessions each time, through an object of its own where there can be one."""
    opened: list[Store] = []
    opener = request.param(tmp_path)

    def opened_here() -> Store:
        opened.append(opener())
        return opened[-1]

    yield opened_here
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Opener) -> Store:
    return open_store()
