"""Budgets on the shape of the source: import cycles, broad excepts, `Any`."""

import ast
import graphlib
import re

from tests.project.source import imports, modules, nodes

BROAD = ("Exception", "BaseException")
BROAD_EXCEPTS = 31
ANY_LINES_IN_HOST = 30


def test_there_is_no_import_cycle() -> None:
    graph = {name: set(imports(module)) & modules().keys() for name, module in modules().items()}

    graphlib.TopologicalSorter(graph).prepare()


def test_broad_excepts_do_not_spread() -> None:
    """Only the outermost function of a shell, a hook or an extension boundary catches everything."""
    broad = [
        f"{module.name}, line {node.lineno}"
        for module in modules().values()
        for node in nodes(module)
        if isinstance(node, ast.ExceptHandler) and (node.type is None or ast.unparse(node.type) in BROAD)
    ]

    assert len(broad) <= BROAD_EXCEPTS, broad


def test_the_host_is_typed() -> None:
    """`Any` stands only where records are decoded from the wire. Tools and extensions have parameters of any type."""
    lines = [
        f"{module.name}: {line.strip()}"
        for module in modules().values()
        if module.wing == "run" and module.name.split(".")[2:3] not in (["kit"], ["extensions"])
        for line in module.path.read_text(encoding="utf-8").splitlines()
        if re.search(r"\bAny\b", line)
    ]

    assert len(lines) <= ANY_LINES_IN_HOST, lines


def test_nothing_sets_a_type_checking_flag_of_its_own() -> None:
    """The package root is the exception: it must import nothing."""
    texts = {name: module.path.read_text(encoding="utf-8") for name, module in modules().items()}

    assert [name for name, text in texts.items() if "TYPE_CHECKING = False" in text] == ["tildone", "tildone.base"]
