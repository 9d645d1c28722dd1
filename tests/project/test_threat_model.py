"""The threat model names tests that exist."""

import re

from tests.project.source import ROOT, functions_of


def page() -> str:
    return (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


def test_every_row_names_a_test() -> None:
    rows = re.findall(r"^\| .* \|$", page().partition("## Attacks")[2], re.MULTILINE)

    assert not [row for row in rows if "`tests/" not in row and not row.startswith(("| attack ", "| fault "))]


def test_every_test_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page()))

    assert len(named) > 50
    assert [(path, name) for path, name in sorted(named) if name and name not in functions_of(path)] == []
    assert [path for path, _ in sorted(named) if not any(test.startswith("test_") for test in functions_of(path))] == []
