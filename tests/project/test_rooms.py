"""The rooms keep to themselves: import-linter's rules read from the files, and a few it can't see."""

import ast
import subprocess
import sys

import pytest

from do import PURE_ROOMS
from tests.project.source import Module, contract, imports, modules, rooms

OUTSIDE = set(contract("pure")["forbidden_modules"])
MAY_USE = {"tildone.log.codec": {"json"}}
HEAVY = {"asyncio", "mcp", "psycopg", "pydantic", "rich", "starlette", "textual"}

pure_modules = [module for module in modules().values() if module.room in PURE_ROOMS]
dialects = [module for module in modules().values() if module.name.startswith("tildone.dialects.")]
light = [name for name in modules() if name in {"tildone", "tildone.session"} or name.startswith("tildone.hooks")]


@pytest.mark.parametrize("module", pure_modules, ids=lambda module: module.name)
def test_a_pure_room_uses_only_the_pure_standard_library(module: Module) -> None:
    used = {name.split(".")[0] for name in imports(module)}
    foreign = used - sys.stdlib_module_names - {"tildone"}

    assert foreign == set()
    assert used & OUTSIDE - MAY_USE.get(module.name, set()) == set()


@pytest.mark.parametrize("module", pure_modules, ids=lambda module: module.name)
def test_a_pure_room_does_not_open_or_print(module: Module) -> None:
    """The doors that need no import."""
    names = {node.id for node in ast.walk(module.tree) if isinstance(node, ast.Name)}

    assert names & {"open", "print", "input", "__import__"} == set()


def test_stores_know_only_the_log_and_what_is_below_it() -> None:
    stores = [module for module in modules().values() if module.room == "stores"]
    known = {modules()[name].room for store in stores for name in imports(store) if name in modules()}

    assert known <= {"stores", "files", "log", "core", "errors", "typing", "value"}


@pytest.mark.parametrize("module", dialects, ids=lambda module: module.name)
def test_dialects_do_not_know_each_other(module: Module) -> None:
    shared = {"base", "schema", "snapshot"}
    own = module.name.split(".")[2]
    others = {name.split(".")[2] for name in imports(module) if name.startswith("tildone.dialects.")}

    assert others - {own} <= shared


def test_the_ground_floor_stands_on_nothing() -> None:
    assert [name for name in imports(rooms()["errors"]) if name.startswith("tildone")] == []


@pytest.mark.parametrize("name", light)
def test_importing_the_hook_path_loads_nothing_heavy(name: str) -> None:
    """A hook runs at every stop of every agent, and its imports are its whole cost."""
    show = f"import sys, {name}; print(*{HEAVY!r} & sys.modules.keys())"

    answer = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)

    assert answer.stdout.split() == []
