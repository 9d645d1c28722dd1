"""Where the browser of these tests comes from."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.web.browser.install import HOW, OTHER_BROWSER, find_browser

ROOT = Path(__file__).parents[3]


def program(folder: Path, name: str, script: str = "exit 0") -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_a_browser_is_found_on_path_or_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_browser() is None
    chrome = program(tmp_path, "google-chrome")
    assert find_browser() == str(chrome)
    monkeypatch.setenv(OTHER_BROWSER, str(program(tmp_path, "other")))
    assert find_browser() == str(tmp_path / "other")


def test_without_a_way_to_install_one_it_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    command = [sys.executable, "-m", "tests.web.browser.install"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert HOW in done.stderr


def test_a_failed_installation_is_loud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "apt-get", "exit 100")
    program(tmp_path, "sudo", 'shift; exec "$@"')
    monkeypatch.setenv("PATH", f"{tmp_path}")
    command = [sys.executable, "-m", "tests.web.browser.install"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "apt-get update failed" in done.stderr
