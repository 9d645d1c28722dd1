"""Fixtures of the tool tests: a working directory and the tools in it."""

import tempfile
from pathlib import Path

import pytest

from tests.host.tools.tool_bench import ToolBench


@pytest.fixture(autouse=True)
def _temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create temporary files in the folder of the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The working directory, with a file beside it that is outside."""
    folder = tmp_path / "wörk ✓"
    folder.mkdir()
    (tmp_path / "outside.txt").write_text("secret\n", encoding="utf-8")
    return folder


@pytest.fixture
def bench(folder: Path) -> ToolBench:
    return ToolBench(folder)
