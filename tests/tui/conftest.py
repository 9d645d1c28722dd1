from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.watching import World, world


@pytest.fixture
def plans(tmp_path: Path) -> Iterator[World]:
    """A store of its own."""
    made = world(tmp_path)
    yield made
    made.store.close()
