"""A lock file is installed as it is by the pip of this Python, whatever was released since."""

import os
import subprocess
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import pytest

import do

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the programs of an environment are elsewhere")

PROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "edited"
version = "1.0"
"""
BACKEND = """\
import shutil

def build_editable(folder, config_settings=None, metadata_directory=None):
    return shutil.copy("edited-1.0-py3-none-any.whl", folder).rpartition("/")[2]
"""


def wheel(folder: Path, name: str, version: str, *metadata: str) -> str:
    """Make a wheel without content, and return the line that pins it."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    information = f"{name}-{version}.dist-info"
    files = {
        f"{information}/METADATA": "\n".join(
            ("Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *metadata, "")
        ),
        f"{information}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{information}/RECORD"] = "".join(f"{file},,\n" for file in (*files, f"{information}/RECORD"))
    with ZipFile(path, "w") as archive:
        for file, content in files.items():
            archive.writestr(file, content)
    return f"{name}=={version} --hash=sha256:{sha256(path.read_bytes()).hexdigest()}\n"


@pytest.mark.slow
def test_a_newer_release_of_a_package_with_an_extra_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, released = tmp_path / "project", tmp_path / "released"
    project.mkdir()
    released.mkdir()
    lock = tmp_path / "requirements.lock"
    pinned = wheel(released, "driver", "1.0", "Provides-Extra: binary")
    lock.write_text(wheel(released, "engine", "1.0", "Requires-Dist: driver[binary]>=1") + pinned, encoding="utf-8")
    wheel(released, "driver", "2.0", "Provides-Extra: binary")
    wheel(project, "edited", "1.0")
    (project / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    (project / "backend.py").write_text(BACKEND, encoding="utf-8")
    for name, value in {"CONFIG_FILE": os.devnull, "NO_INDEX": "1", "FIND_LINKS": str(released)}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.setattr(do, "ROOT", project)
    monkeypatch.setattr(do, "VENV", tmp_path / "venv")
    monkeypatch.setattr(do, "PYTHON", tmp_path / "venv" / "bin" / "python")

    do.install_with_pip(lock, keep=False)

    listed = subprocess.run(
        [do.PYTHON, "-m", "pip", "list", "--format", "freeze"], capture_output=True, text=True, check=True
    )
    assert {"driver==1.0", "edited==1.0", "engine==1.0"} <= set(listed.stdout.split())
