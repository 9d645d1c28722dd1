"""A sandbox for a client, and what a run of the table needs to know of its tests."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.agents import Sandbox
from tests.clients.model import Model
from tests.clients.situations import PROPERTY, cells_of, runs_one_of

ONLY = "TESTS_PROVE_IN"
"""A variable that names clients: then only the long tests of theirs run, and those that prove a cell of theirs."""


@pytest.fixture
def make_sandbox(tmp_path: Path) -> Callable[[Model], Sandbox]:
    """Makes a sandbox with an empty home, an empty working folder, and this model."""

    def make(model: Model) -> Sandbox:
        home, work = tmp_path / "home", tmp_path / "work"
        home.mkdir(exist_ok=True)
        work.mkdir(exist_ok=True)
        return Sandbox(home, work, model.url)

    return make


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Report with each test what it proves, and leave out what was not asked for."""
    clients = os.environ.get(ONLY, "").split()
    left_out = []
    for item in items:
        cells = cells_of(item)
        # These travel with the report from a worker to the process that collects the results.
        item.user_properties += [(PROPERTY, str(cell)) for cell in cells]
        is_long = item.get_closest_marker("long") is not None
        is_of_client = any(cell.client in clients for cell in cells) or (is_long and runs_one_of(item, clients))
        if not (is_of_client if clients else not is_long):
            left_out.append(item)
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
