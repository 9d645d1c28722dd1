"""A person in an empty project, without a countdown before an agent is continued."""

import os
from pathlib import Path

import pytest

from tests.cli.person import Person, new_person


@pytest.fixture
def person(tmp_path: Path) -> Person:
    """A person whose agents are continued without a countdown."""
    # Nothing is encrypted here, and reading a machine's certificates takes longer than most of these tests.
    own = {"TILDONE_COUNTDOWN": "0", "NO_COLOR": "1", "NO_PROXY": "127.0.0.1"}
    return new_person(tmp_path, **own, SSL_CERT_DIR=os.path.dirname(__file__))
