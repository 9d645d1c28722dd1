"""The wings keep to themselves: import-linter's rules read from the files, and a few it can't see."""

import ast
import subprocess
import sys

from do import PURE
from tests.project.source import Module, contract, imports, modules, nodes

OUTSIDE = set(contract("pure")["forbidden_modules"])
HEAVY = {"asyncio", "mcp", "psycopg", "pydantic", "rich", "starlette", "textual"}


def pure_modules() -> list[Module]:
    folders = tuple(f"tildone.{folder.replace('/', '.')}" for folder in PURE)
    return [
        module for module in modules().values() if f"{module.name}.".startswith(tuple(f"{each}." for each in folders))
    ]


def test_pure_packages_use_only_the_pure_standard_library() -> None:
    used = {(module.name, name.split(".")[0]) for module in pure_modules() for name in imports(module)}
    allowed = sys.stdlib_module_names - OUTSIDE | {"tildone"}

    assert {(home, name) for home, name in used if name not in allowed} == set()


def test_pure_packages_do_not_open_or_print() -> None:
    """The doors that need no import."""
    names = {
        (module.name, node.id) for module in pure_modules() for node in nodes(module) if isinstance(node, ast.Name)
    }

    assert {(home, name) for home, name in names if name in {"open", "print", "input", "__import__"}} == set()


def test_the_ground_floor_stands_on_nothing() -> None:
    assert [name for name in imports(modules()["tildone.base.errors"]) if name.startswith("tildone")] == []


def test_importing_the_hook_path_loads_nothing_heavy() -> None:
    """A hook runs at every stop of every agent, and its imports are its whole cost."""
    light = [
        name
        for name in modules()
        if name in {"tildone", "tildone.log.session"} or name.startswith("tildone.agents.hooks")
    ]
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
    users = {
        module.name
        for module in modules().values()
        for node in nodes(module)
        if isinstance(node, ast.Name) and node.id in ("__import__", "import_module")
    }

    assert users <= {"tildone", "tildone.base", "tildone.base.moved", "tildone.run.hosting"}
