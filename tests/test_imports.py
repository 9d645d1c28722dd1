"""Hooks and short commands import only what they need: imports are most of their cost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "argparse",
    "asyncio",
    "dataclasses",
    "inspect",
    "logging",
    "mcp",
    "pathlib",
    "psycopg",
    "pydantic",
    "rich",
    "starlette",
    "textual",
    "typing",
}
SHOW = "import sys; print(*sorted(sys.modules), sep='\\n', file=sys.stderr)"


@pytest.mark.parametrize("module", ["tildone", "tildone.session", "tildone.stores.sqlite.store", "tildone.wiring"])
def test_modules_of_commands_and_hooks_import_no_heavy_packages(module: str) -> None:
    """In a new interpreter."""
    assert loaded(f"import {module}; {SHOW}") & HEAVY == set()


@pytest.mark.parametrize("words", [["todo"], ["call", "list_todos", "{}"]], ids=" ".join)
def test_running_a_command_imports_no_heavy_packages(words: list[str], tmp_path: Path) -> None:
    """From start to end, including late imports."""
    run = f"""
import atexit, sys
atexit.register(lambda: print(*sorted(sys.modules), sep='\\n', file=sys.stderr))
sys.argv[1:] = {words!r}
from tildone.cli import main
sys.exit(main())
"""

    assert loaded(run, TILDONE_STORE=str(tmp_path / "plans.db"), TILDONE_SESSION="s") & HEAVY == set()


def loaded(program: str, **environ: str) -> set[str]:
    """Return the packages that are imported when the program ends."""
    command = [sys.executable, "-I", "-c", program]
    answer = subprocess.run(command, env=os.environ | environ, capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in answer.stderr.split()}
