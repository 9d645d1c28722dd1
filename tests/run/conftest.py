"""A person in a project of their own, with plans to run and models that answer from a script."""

import os
from pathlib import Path

import pytest

from tests.cli.person import Person


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the program's modules are kept compiled, as they are in any installation."""
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture
def person(tmp_path: Path, compiled: Path) -> Person:
    """They wait for nothing: an agent that stops is told at once to go on."""
    project, home = tmp_path / "project", tmp_path / "home"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    environ = {
        "PYTHONPYCACHEPREFIX": str(compiled),
        "TILDONE_COUNTDOWN": "0",
        "NO_COLOR": "1",
        "NO_PROXY": "127.0.0.1",
        # Nothing is encrypted here, and reading a machine's certificates takes longer than most of these tests.
        "SSL_CERT_DIR": os.path.dirname(__file__),
    }
    return Person(project, home, environ)
