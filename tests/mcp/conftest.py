"""Empty projects without agents, and an HTTP server in one of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp.project import Project
from tests.mcp.web import Served, serving


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return project_in(tmp_path)


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project for all tests."""
    return project_in(tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="session")
def served(place: Project) -> Iterator[Served]:
    """One server for all tests; each uses sessions of its own."""
    with serving(place) as server:
        yield server


def project_in(parent: Path) -> Project:
    folder, home = parent / "project", parent / "home"
    (folder / ".git").mkdir(parents=True)
    home.mkdir()
    return Project(folder.resolve(), home.resolve())
