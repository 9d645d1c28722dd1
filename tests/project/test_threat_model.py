"""The threat model names tests that exist."""

import ast
import re

import pytest

from tests.project.source import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)))


def test_every_row_names_a_test() -> None:
    rows = re.findall(r"^\| .* \|$", PAGE.partition("## Attacks")[2], re.MULTILINE)

    assert not [row for row in rows if "`tests/" not in row and not row.startswith(("| attack ", "| fault "))]


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_every_test_that_the_page_names_exists(path: str, name: str) -> None:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}

    assert not name or name in defined
    assert any(test.startswith("test_") for test in defined)
