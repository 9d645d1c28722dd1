"""Every section of the originals' documents has a place and a test, and both exist."""

from tests.project.originals.page import DOCUMENTS, Section
from tests.project.source import ROOT, functions_of


def test_every_section_has_a_file_and_a_test() -> None:
    """No cell is empty, the file exists, and so does the test."""
    rows = [row for rows in DOCUMENTS.values() for row in rows]

    assert len(rows) > 100
    assert [row.name for row in rows if not (all(row) and (ROOT / row.path).is_file())] == []
    assert [(row.name, row.test) for row in rows if not has_test(row)] == []


def has_test(row: Section) -> bool:
    file, _, name = row.test.partition("::")
    defined = functions_of(f"tests/{file}")
    return f"test_{name}" in defined if name else any(test.startswith("test_") for test in defined)


def test_no_section_is_listed_twice() -> None:
    for rows in DOCUMENTS.values():
        names = [row.name for row in rows]
        assert len(names) == len(set(names))
