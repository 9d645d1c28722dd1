"""A desk for every test that needs no other."""

import tempfile
from pathlib import Path

import pytest

from tests.host.tools.desk import Desk


@pytest.fixture(autouse=True)
def _kept_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long output is kept where it goes away with the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The working directory, with something beside it that is outside."""
    folder = tmp_path / "wörk ✓"
    folder.mkdir()
    (tmp_path / "outside.txt").write_text("secret\n", encoding="utf-8")
    return folder


@pytest.fixture
def desk(folder: Path) -> Desk:
    return Desk(folder)
