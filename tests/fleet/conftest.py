"""Fixtures for the tests of fleets."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fleet.agents import MEANS, start, stop_all
from tests.fleet.workers import Bench
from tests.needs import need_control_groups
from tests.stores.conftest import server, url
from tildone.fleet.process_tree import Containment
from tildone.fleet.supervision import SupervisedAgent

__all__ = ["server", "url"]

collect_ignore_glob = ["test_*"] if sys.platform != "linux" else []


@pytest.fixture(params=MEANS)
def means(request: pytest.FixtureRequest) -> str:
    """Each means of holding processes together, if this machine has it."""
    if request.param == Containment.CGROUP:
        need_control_groups()
    return str(request.param)


@pytest.fixture(params=MEANS[:2])
def strong_means(request: pytest.FixtureRequest) -> str:
    """The means that lose no process."""
    if request.param == Containment.CGROUP:
        need_control_groups()
    return str(request.param)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    for name in ("TILDONE_STORE", "MARKS"):
        monkeypatch.setenv(name, "")
    found = Bench(tmp_path)
    yield found
    found.store.close()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., SupervisedAgent]]:
    """Start agents; those that are left at the end of the test are ended."""
    agents: list[SupervisedAgent] = []

    def start_one(*arguments: object, **other: object) -> SupervisedAgent:
        agents.append(start(tmp_path, *arguments, **other))  # type: ignore[arg-type]  # passed on
        return agents[-1]

    yield start_one
    stop_all(agents)
