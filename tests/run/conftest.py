"""A person in an empty project, without a countdown before an agent is continued."""

import os
from pathlib import Path

import pytest

from tests.cli.person import Person


@pytest.fixture
def person(tmp_path: Path) -> Person:
    """A person whose agents are continued without a countdown."""
    project, home = tmp_path / "project", tmp_path / "home"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    environ = {
        "TILDONE_COUNTDOWN": "0",
        "NO_COLOR": "1",
        "NO_PROXY": "127.0.0.1",
        # Nothing is encrypted here, and reading a machine's certificates takes longer than most of these tests.
        "SSL_CERT_DIR": os.path.dirname(__file__),
    }
    return Person(project, home, environ)
