"""A workspace for agents: a project, and a home without plans."""

from pathlib import Path

import pytest

from tests.hooks.agent import HookedAgent, Workspace, new_workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return new_workspace(tmp_path)


@pytest.fixture
def agent(workspace: Workspace) -> HookedAgent:
    """Claude Code in that workspace."""
    return HookedAgent(workspace)
