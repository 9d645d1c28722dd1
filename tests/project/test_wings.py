"""The wings keep to themselves: import-linter's rules read from the files, and a few it can't see."""

import ast
import re
import subprocess
import sys

from do import PURE
from tests.project.source import PACKAGE, Module, contract, imports, modules, nodes, wings
from tests.project.use_cases import USE_CASES, ways
from tests.project.wings_page import PAGE
from tildone.app.who import OTHERS, WAYS, PersonAct, Surface

OUTSIDE = set(contract("pure")["forbidden_modules"])
HEAVY = {"asyncio", "mcp", "psycopg", "pydantic", "rich", "starlette", "textual"}


def pure_modules() -> list[Module]:
    folders = tuple(f"tildone.{folder.replace('/', '.')}." for folder in PURE)
    return [module for name, module in modules().items() if f"{name}.".startswith(folders)]


def test_pure_packages_use_only_the_pure_standard_library() -> None:
    used = {(module.name, name.split(".")[0]) for module in pure_modules() for name in imports(module)}
    allowed = sys.stdlib_module_names - OUTSIDE | {"tildone"}

    assert {(home, name) for home, name in used if name not in allowed} == set()


def test_pure_packages_do_not_open_or_print() -> None:
    """The doors that need no import."""
    found = [(module.name, node) for module in pure_modules() for node in nodes(module) if isinstance(node, ast.Name)]

    assert {(home, node.id) for home, node in found if node.id in {"open", "print", "input", "__import__"}} == set()


def test_the_ground_floor_stands_on_nothing() -> None:
    assert [name for name in imports(modules()["tildone.base"]) if name.startswith("tildone")] == []


def test_importing_the_hook_path_loads_nothing_heavy() -> None:
    """A hook runs at every stop of every agent, and its imports are its whole cost."""
    light = ["tildone", "tildone.log.session", *(name for name in modules() if name.startswith("tildone.agents.hooks"))]
    show = f"import sys, {', '.join(light)}; print(*{HEAVY!r} & sys.modules.keys())"

    answer = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)

    assert answer.stdout.split() == []


def test_registries_import_only_from_their_own_package() -> None:
    """A registry imports by name, which import-linter cannot see; so it must stay inside its package."""
    declared = [
        (module.name, ast.literal_eval(node.args[0]) if isinstance(node.args[0], ast.Constant) else module.name)
        for module in modules().values()
        for node in nodes(module)
        if isinstance(node, ast.Call) and ast.unparse(node.func).split("[")[0] == "Registry"
    ]

    assert len(declared) >= 3
    assert [(home, package) for home, package in declared if not f"{home}.".startswith(f"{package}.")] == []


def test_nothing_but_a_registry_imports_by_name() -> None:
    """Import contracts see only imports that are written out. Extensions are modules that a person names."""
    names = [(name, node) for name, module in modules().items() for node in nodes(module) if isinstance(node, ast.Name)]
    users = {name for name, node in names if node.id in ("__import__", "import_module")}

    assert users <= {"tildone", "tildone.base", "tildone.base.moved", "tildone.run.hosting"}


def test_what_the_architecture_names_is_in_the_file_that_it_names() -> None:
    """`log/session.py` or `log/session.py::Session.call`: the walks can be followed with the source open."""
    file = rf"`((?:{'|'.join(wings())})/[\w/]+\.py)(?:::([\w.]+))?`"
    named = re.findall(file, PAGE.read_text(encoding="utf-8"))

    assert len(named) > 40
    assert [file for file, _ in named if not (PACKAGE / file).is_file()] == []
    assert [(file, name) for file, name in named if name and name not in defined_in(file)] == []


def test_use_cases_are_functions_of_app_and_their_ways_are_known() -> None:
    """And each way in to the board is that of a use case. Draining a worker is one call of the store."""
    acts = WAYS.values()
    known = {where: {*OTHERS[where], *(way for act in acts for way in act.get(where, ()))} for where in Surface}
    homes = [case.home.partition(".") for case in USE_CASES]
    told = [(where, way) for case in USE_CASES for where, found in ways(case).items() for way in found]

    assert [name for module, _, name in homes if name not in defined_in(f"app/{module}.py")] == []
    assert [(where, way) for where, way in told if way not in known[where]] == []
    drains = {*WAYS[PersonAct.DRAIN][Surface.BOARD]}
    assert {route for case in USE_CASES for route in case.routes} == known[Surface.BOARD] - drains


def defined_in(file: str) -> set[str]:
    """The functions, classes and methods of a file of the source."""
    found = modules()[f"tildone.{file.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}"].tree.body
    top = {node.name: node for node in found if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)}
    classes = [node for node in top.values() if isinstance(node, ast.ClassDef)]
    parts = [(owner.name, node) for owner in classes for node in owner.body]
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    return {*top, *(f"{owner}.{node.name}" for owner, node in parts if isinstance(node, functions))}
