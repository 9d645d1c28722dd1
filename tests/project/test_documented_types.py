"""The Python code in the documents passes `mypy --strict`, as a reader's own code would have to."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.blocks import blocks
from tests.project.rewrite_docs import documents
from tests.project.source import ROOT

pytestmark = pytest.mark.slow


WRONG = "from tildone import MemoryStore\n\nstore: int = MemoryStore()\n"


def test_all_documented_code_passes_mypy_strict(tmp_path: Path) -> None:
    """Each document is one module, because its blocks share their names. A wrong module shows that mypy runs."""
    modules = {module_name(path): code_of(path) for path in documents()} | {"wrong": WRONG}
    for name, code in modules.items():
        if code:
            (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")

    errors = mypy(tmp_path)

    assert len(list(tmp_path.glob("*.py"))) > 4
    assert [error for error in errors if not error.startswith("wrong.py:3: error: Incompatible types")] == []
    assert len(errors) == 1


def module_name(path: Path) -> str:
    return re.sub(r"\W", "_", str(path.relative_to(ROOT).with_suffix("")))


def code_of(path: Path) -> str:
    return "\n\n".join(block.body for block in blocks(path.read_text(encoding="utf-8")) if block.language == "python")


def mypy(folder: Path) -> list[str]:
    """Return what mypy finds in the modules of a folder. The project's cache saves most of the time."""
    cache = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    strict = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
    command = [*strict, *cache, *map(str, sorted(folder.glob("*.py")))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert not done.stderr, done.stderr
    return [re.sub(r"^.*[/\\](?=\w+\.py:)", "", line) for line in done.stdout.splitlines()]
