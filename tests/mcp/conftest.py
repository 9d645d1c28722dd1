"""An empty project, and nobody in it."""

from pathlib import Path

import pytest

from tests.mcp.room import Room


@pytest.fixture
def room(tmp_path: Path) -> Room:
    project, home = tmp_path / "project", tmp_path / "home"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    return Room(project.resolve(), home)
