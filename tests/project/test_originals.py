"""Every section of the originals' documents has a place and a test, and both exist."""

import ast
from pathlib import Path

import pytest

from tests.project.originals.page import DOCUMENTS, GUIDE, PAGES, Section
from tests.project.source import ROOT

ROWS = [row for rows in (*DOCUMENTS.values(), GUIDE) for row in rows]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_pages_are_up_to_date(path: Path) -> None:
    """Run `python -m tests.project.originals` to update them."""
    assert path.read_text(encoding="utf-8") == PAGES[path]()


@pytest.mark.parametrize("row", ROWS)
def test_every_section_has_a_file_and_a_test(row: Section) -> None:
    """No cell is empty, the file exists, and so does the test."""
    file, _, name = row.test.partition("::")
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}

    assert all(row)
    assert (ROOT / row.path).is_file()
    assert f"test_{name}" in defined if name else any(test.startswith("test_") for test in defined)


def test_no_section_is_listed_twice() -> None:
    for rows in (*DOCUMENTS.values(), GUIDE):
        names = [row.name for row in rows]
        assert len(names) == len(set(names))
