"""An empty project without agents."""

from pathlib import Path

import pytest

from tests.mcp.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    folder, home = tmp_path / "project", tmp_path / "home"
    (folder / ".git").mkdir(parents=True)
    home.mkdir()
    return Project(folder.resolve(), home)
