"""A person in a project of their own, a git repository, with no plans yet."""

from pathlib import Path

import pytest

from tests.cli.person import Person


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the program's modules are kept compiled, as they are in any installation."""
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture
def person(tmp_path: Path, compiled: Path) -> Person:
    project, home = tmp_path / "project", tmp_path / "home"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    return Person(project, home, {"PYTHONPYCACHEPREFIX": str(compiled)})
