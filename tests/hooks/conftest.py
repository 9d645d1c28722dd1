"""A workspace for agents: a project, and a home without plans."""

from pathlib import Path

import pytest

from tests.hooks.agent import HookedAgent, Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A project with an empty `.git` folder, and an empty home."""
    project, home = tmp_path / "project", tmp_path / "home"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    return Workspace(project, home)


@pytest.fixture
def agent(workspace: Workspace) -> HookedAgent:
    """Claude Code in that workspace."""
    return HookedAgent(workspace)
