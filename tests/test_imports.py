"""Hooks and short commands import only what they need: imports are most of their cost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tildone.app.opening import session_in, store_at
from tildone.app.settings import load
from tildone.plan.dialects import BY_HAND
from tildone.plan.model import Task
from tildone.plan.ops import Append
from tildone.stores.assignment import ProvidedTools

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
    "uvicorn",
}
SHOW = "import sys; print(*sorted(sys.modules), sep='\\n', file=sys.stderr)"


@pytest.mark.parametrize(
    "module", ["tildone", "tildone.log.session", "tildone.stores.sqlite.store", "tildone.app.opening"]
)
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


MAX_MODULES_OF_A_HOOK = 100
"""How many modules a hook that continues an agent imports. Each one costs a hook about as much as a query."""


def test_a_hook_that_continues_an_agent_imports_few_modules(tmp_path: Path) -> None:
    """Of the standard library, none that takes long: it decodes events, but needs neither `json` nor `re`."""
    (tmp_path / ".git").mkdir()
    environ = {"XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "LOCALAPPDATA": str(tmp_path)}
    settings = load({}, environ, str(tmp_path))
    session_in(store_at(str(settings.store)), settings.session, BY_HAND).change([Append((Task("One"),))])
    event = json.dumps({"session_id": "s", "cwd": str(tmp_path), "hook_event_name": "Stop"})
    program = f"from tildone.agents.hooks import main; main(['claude']); {SHOW}"

    with ProvidedTools(settings.agents_dir, os.getpid()):
        first, second = (run(program, event, **environ) for _ in range(2))

    assert [json.loads(answer.stdout)["decision"] for answer in (first, second)] == ["block", "block"]
    modules = set(second.stderr.split()) - set(run(SHOW).stderr.split())
    assert modules & {"json", "re", "threading", "tildone.plan.reduce", "tildone.plan.ops"} == set()
    assert len(modules) <= MAX_MODULES_OF_A_HOOK


def loaded(program: str, **environ: str) -> set[str]:
    """Return the packages that are imported when the program ends."""
    return {name.split(".")[0] for name in run(program, **environ).stderr.split()}


def run(program: str, given: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a new interpreter."""
    command = [sys.executable, "-I", "-c", program]
    return subprocess.run(command, env=os.environ | environ, input=given, capture_output=True, text=True, check=True)
