"""Wheels and fresh virtual environments, made without a network."""

import importlib.util
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.project.source import ROOT


def build_wheel(folder: Path) -> Path:
    """Build tildone's wheel in a folder."""
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder), cwd=ROOT)
    [built] = folder.glob("*.whl")
    return built


def make_environment(folder: Path, wheel: Path) -> tuple[Path, Path]:
    """Make an environment with pip and this wheel. Return the folders of its programs and of its packages."""
    if importlib.util.find_spec("ensurepip") is None:
        pytest.skip("this Python has no ensurepip module")
    venv.create(folder, with_pip=True, symlinks=sys.platform != "win32")
    paths = sysconfig.get_paths("venv", vars={"base": str(folder), "platbase": str(folder)})
    programs = Path(paths["scripts"])
    pip_install(programs, "--no-deps", str(wheel))
    return programs, Path(paths["purelib"])


def pip_install(programs: Path, *words: str) -> None:
    pip = [str(programs / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--no-index"]
    run(*pip, *words, cwd=programs)


def run(*command: str, cwd: Path, **variables: str) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | variables, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
