"""A workspace for a client."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.agents import Desk
from tests.clients.model import Model


@pytest.fixture
def desk(tmp_path: Path) -> Callable[[Model], Desk]:
    """Makes a workspace with an empty home, an empty working folder, and this model."""

    def laid(model: Model) -> Desk:
        home, work = tmp_path / "home", tmp_path / "work"
        home.mkdir(exist_ok=True)
        work.mkdir(exist_ok=True)
        return Desk(home, work, model.url)

    return laid
