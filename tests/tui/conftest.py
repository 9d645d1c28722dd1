from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.watching import World, grammar, world


@pytest.fixture
def plans(tmp_path: Path) -> Iterator[World]:
    """A store of its own."""
    made = world(tmp_path)
    yield made
    made.store.close()


@pytest.fixture
def written(plans: World) -> World:
    """A store with the plan of most tests."""
    plans.write("p", *grammar())
    return plans
