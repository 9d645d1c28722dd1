"""The source tree as the project's own tests see it: its modules and what each imports."""

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "tildone"


@dataclass(frozen=True, slots=True)
class Module:
    """One source file: `tildone.plan.model`, where it is, what it says."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def wing(self) -> str:
        """The part of the name below `tildone`; nothing for `tildone` itself."""
        return self.name.split(".")[1] if "." in self.name else ""

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring, on one line."""
        return " ".join((ast.get_docstring(self.tree) or "").split("\n\n")[0].split())


@cache
def modules() -> dict[str, Module]:
    """Every module of the package by name."""
    found = (_module(path) for path in sorted(PACKAGE.rglob("*.py")))
    return {module.name: module for module in found}


def _module(path: Path) -> Module:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Module(name, path, ast.parse(path.read_text(encoding="utf-8"), str(path)))


@cache
def nodes(module: Module) -> tuple[ast.AST, ...]:
    """Every node of a module's syntax tree."""
    return tuple(ast.walk(module.tree))


@cache
def imports(module: Module) -> tuple[str, ...]:
    """What a module imports, wherever in the file: late and type-only imports count too."""
    return tuple(_imports(module))


def _imports(module: Module) -> Iterator[str]:
    for node in nodes(module):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(origin), names=names, level=0):
                submodules = [f"{origin}.{alias.name}" for alias in names]
                yield from (name if name in modules() else origin for name in submodules)
            case _:
                pass


@cache
def functions_of(file: str) -> frozenset[str]:
    """The names of the functions of a file of this project, without those within classes and functions."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def wings() -> dict[str, Module]:
    """The packages directly below `tildone`, each with the module that opens it."""
    return {
        module.wing: module
        for module in modules().values()
        if module.path.parent.parent == PACKAGE and module.path.name == "__init__.py"
    }


@cache
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def contract(name: str) -> dict[str, Any]:
    """One of the contracts import-linter keeps."""
    [found] = [each for each in pyproject()["tool"]["importlinter"]["contracts"] if each["id"] == name]
    return dict(found)
