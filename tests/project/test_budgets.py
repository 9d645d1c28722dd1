"""Budgets: files and functions a reader holds in the head, and imports without circles."""

import ast
import graphlib
from collections.abc import Iterator

import pytest

from tests.project.source import Module, imports, modules

FILE_LINES = 300
FUNCTION_LINES = 40

every_module = pytest.mark.parametrize("module", modules().values(), ids=modules().keys())

Function = ast.FunctionDef | ast.AsyncFunctionDef


@every_module
def test_a_file_fits_its_budget(module: Module) -> None:
    lines = len(module.path.read_text(encoding="utf-8").splitlines())

    assert lines <= FILE_LINES, f"{module.name} has {lines} lines: a file past {FILE_LINES} becomes a folder"


@every_module
def test_functions_fit_their_budget(module: Module) -> None:
    sizes = {f"{function.name}, line {function.lineno}": lines_of(function) for function in functions(module.tree)}

    assert {name: lines for name, lines in sizes.items() if lines > FUNCTION_LINES} == {}


def test_a_docstring_is_not_counted() -> None:
    [function] = functions(ast.parse('def f():\n    """One.\n\n    Two.\n    """\n    return 1\n'))

    assert lines_of(function) == 2


def test_imports_run_in_no_circle() -> None:
    graph = {name: set(imports(module)) & modules().keys() for name, module in modules().items()}

    graphlib.TopologicalSorter(graph).prepare()


def functions(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def lines_of(function: Function) -> int:
    """From `def` to the end, without the docstring."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    docstring = function.body[0]
    return lines - ((docstring.end_lineno or docstring.lineno) - docstring.lineno + 1)
