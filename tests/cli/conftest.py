"""A person in a project of their own, a git repository, with no plans yet."""

from pathlib import Path

import pytest

from tests.cli.person import Person


@pytest.fixture
def person(tmp_path: Path) -> Person:
    project, home = tmp_path / "project", tmp_path / "home"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    return Person(project, home)
