"""A person in a project of their own, a git repository, with no plans yet."""

from pathlib import Path

import pytest

from tests.cli.person import Person, new_person


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return new_person(tmp_path)
