"""A workspace for agents: a project that is a git repository, and a home without plans."""

import subprocess
from pathlib import Path

import pytest

from tests.hooks.agent import HookedAgent, Workspace

ALONE = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "n",
    "GIT_AUTHOR_EMAIL": "e",
    "GIT_COMMITTER_NAME": "n",
    "GIT_COMMITTER_EMAIL": "e",
}


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one commit, to be copied."""
    folder = tmp_path_factory.mktemp("repository")
    (folder / "README.md").write_text("A project.\n", encoding="utf-8")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "First"]):
        subprocess.run(["git", *words], cwd=folder, env={"PATH": "/usr/bin:/bin:/usr/local/bin", **ALONE}, check=True)
    return folder


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for compiled modules, as any installation has one."""
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture
def workspace(tmp_path: Path, compiled: Path) -> Workspace:
    """A project with an empty `.git` folder, and an empty home."""
    project, home = tmp_path / "project", tmp_path / "home"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    return Workspace(project, home, {"PYTHONPYCACHEPREFIX": str(compiled)})


@pytest.fixture
def agent(workspace: Workspace) -> HookedAgent:
    """Claude Code in that workspace."""
    return HookedAgent(workspace)
