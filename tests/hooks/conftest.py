"""A workspace for agents: a project, and a home without plans."""

from pathlib import Path

import pytest

from tests.hooks.agent import HookedAgent, Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A project with an empty `.git` folder, and a home without plans, where every agent has our tools."""
    project, home = tmp_path / "project", tmp_path / "home"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    workspace = Workspace(project, home)
    workspace.provide_tools()
    return workspace


@pytest.fixture
def agent(workspace: Workspace) -> HookedAgent:
    """Claude Code in that workspace."""
    return HookedAgent(workspace)
