"""A sandbox for a client."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.agents import Sandbox
from tests.clients.model import Model


@pytest.fixture
def make_sandbox(tmp_path: Path) -> Callable[[Model], Sandbox]:
    """Makes a sandbox with an empty home, an empty working folder, and this model."""

    def make(model: Model) -> Sandbox:
        home, work = tmp_path / "home", tmp_path / "work"
        home.mkdir(exist_ok=True)
        work.mkdir(exist_ok=True)
        return Sandbox(home, work, model.url)

    return make
