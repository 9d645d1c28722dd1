from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.overview.stores import World
from tildone.app.opening import store_at


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A SQLite store of its own."""
    store = store_at(str(tmp_path / "plans.db"))
    yield World(store, tmp_path / "agents")
    store.close()
