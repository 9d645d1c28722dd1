"""The rooms keep to themselves: import-linter's rules read from the files, and a few it can't see."""

import ast
import subprocess
import sys

import pytest

from do import PURE_ROOMS
from tests.project import rooms_page
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

    assert known <= {"stores", "files", "log", "core", "distribution", "errors", "registry", "typing", "value"}


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


def test_every_room_imports_only_rooms_below_it() -> None:
    """What the drawing in docs/architecture.md shows: arrows point down."""
    level = {room: number for number, layer in enumerate(rooms_page.layers()) for room in layer}
    upwards = {(room, used) for room, below in rooms_page.edges().items() for used in below if room} - {
        (room, used) for room in level for used in level if level[room] < level[used]
    }

    assert upwards == set()


def test_a_large_room_is_divided_into_sub_rooms() -> None:
    """No undivided room holds more than 15 % of the lines."""
    large = [room for room, share in rooms_page.shares().items() if share > rooms_page.LARGE]

    assert {room: [*rooms_page.sub_rooms(room)] for room in large if len(rooms_page.sub_rooms(room)) < 3} == {}


def test_registries_import_only_from_their_own_package() -> None:
    """A registry imports by name, which import-linter cannot see; so it must stay inside its package."""
    declared = [
        (module.name, ast.literal_eval(node.args[0]) if isinstance(node.args[0], ast.Constant) else module.name)
        for module in modules().values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).split("[")[0] == "Registry"
    ]

    assert len(declared) >= 3
    assert [(home, package) for home, package in declared if home != package] == []


def test_nothing_but_a_registry_imports_by_name() -> None:
    """Import contracts see only imports that are written out."""
    users = {
        module.name
        for module in modules().values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Name) and node.id in ("__import__", "import_module")
    }

    assert users <= {"tildone", "tildone.registry"}
