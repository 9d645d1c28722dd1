"""The hot modules: what hooks, common verbs and calls over MCP load, which is most of what they cost.

`pyproject.toml` lists them, where it lets them import late. Everything else is ordinary Python.
"""

import ast
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.project.source import modules, pyproject

SLOW = {"argparse", "asyncio", "dataclasses", "inspect", "json", "logging", "pathlib", "re", "subprocess", "typing"}
"""Modules of the standard library that take longer to import than a hook may take."""

STOP = json.dumps({"session_id": "s1", "hook_event_name": "Stop"})
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
CALLS = [("initialize", HELLO), ("tools/list", {}), ("tools/call", {"name": "todo", "arguments": {"add": ["Write"]}})]
MCP = "".join(
    json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"
    for number, (method, params) in enumerate(CALLS)
)
STARTS = {
    "a silent hook": (["hook", "claude"], STOP, 17),
    "todo add": (["todo", "add", "Write the parser", "Wire it up"], "", 60),
    "the first hook of a session": (["hook", "claude"], STOP, 60),
    "a hook that speaks": (["hook", "claude"], STOP, 46),
    "todo": (["todo"], "", 55),
    "todo start": (["todo", "start", "1"], "", 60),
    "todo done": (["todo", "done", "1"], "", 60),
    "undo": (["undo"], "", 60),
    "log": (["log"], "", 60),
    "MCP: initialize, list, call": (["mcp"], MCP, 85),
    "--version": (["--version"], "", 5),
}
"""What is started, one after the other in one project, and how many modules of tildone it may load."""

PROGRAM = """
import atexit, os, sys
names = lambda: "\\n".join(name for name in sys.modules if name.split(".")[0] == "tildone")
atexit.register(lambda: open(os.environ["LOADED"], "w").write(names()))
from tildone.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The modules of tildone that each start loads, in an interpreter of its own."""
    home = tmp_path_factory.mktemp("home")
    (home / ".git").mkdir()
    folders = dict.fromkeys(("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"), str(home))
    environ = {**os.environ, **folders, "LOADED": str(home / "loaded")}
    found = {}
    for name, (words, given, _) in STARTS.items():
        command = [sys.executable, "-c", PROGRAM, *words]
        subprocess.run(command, cwd=home, env=environ, input=given, capture_output=True, text=True, check=True)
        found[name] = set((home / "loaded").read_text().split())
    return found


@cache
def hot() -> frozenset[str]:
    """The modules that may import late, as `pyproject.toml` lists them."""
    ignored = pyproject()["tool"]["ruff"]["lint"]["per-file-ignores"]
    files = [file for pattern, rules in ignored.items() if rules == ["PLC0415"] for file in _expanded(pattern)]
    names = (Path(file).relative_to("src").with_suffix("").as_posix().replace("/", ".") for file in files)
    return frozenset(name.removesuffix(".__init__") for name in names)


def _expanded(pattern: str) -> list[str]:
    before, names, after = re.fullmatch(r"(.*?)(?:\{(.*)\})?([^}]*)", pattern).groups()  # type: ignore[union-attr]  # it matches everything
    return [f"{before}{name}{after}" for name in (names or "").split(",")]


def test_what_starts_load_is_listed(loaded: dict[str, set[str]]) -> None:
    """And nothing else: a module that no start loads any more imports at the top."""
    assert set().union(*loaded.values()) == hot()


@pytest.mark.parametrize("start", STARTS)
def test_a_start_loads_few_modules(start: str, loaded: dict[str, set[str]]) -> None:
    assert len(loaded[start]) <= STARTS[start][2], sorted(loaded[start])


def test_hot_modules_import_nothing_slow(loaded: dict[str, set[str]]) -> None:
    """When hooks and verbs load them. Imports for types, and late ones, cost nothing; a server starts once."""
    names = set().union(*(loaded[start] for start in STARTS if not start.startswith("MCP")))
    slow = {(name, found.split(".")[0]) for name in names for found in _at_import(modules()[name].tree.body)}

    assert {(name, found) for name, found in slow if found in SLOW} == set()


def _at_import(body: list[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for node in body:
        match node:
            case ast.Import(names=names):
                found |= {alias.name for alias in names}
            case ast.ImportFrom(module=str(origin)):
                found.add(origin)
            case ast.If(test=ast.Name(id="TYPE_CHECKING" | "MYPY"), orelse=orelse):
                found |= _at_import(orelse)
            case ast.If(body=inner, orelse=orelse) | ast.Try(body=inner, orelse=orelse):
                found |= _at_import(inner) | _at_import(orelse)
            case _:
                pass
    return found
