"""The pages that show where each section of the originals' documents is implemented, and what proves it."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.project.source import ROOT

FOLDER = Path(__file__).parent
VECTORS = "conformance/test_vectors.py::a_vector_is_answered_as_recorded"
"""The test that replays the recordings of the originals."""

OPENING = """\
# The originals, section by section

Four documents describe the tools that tildone re-implements. For each of their sections, this page names what tildone
has, where it is, and the test that fails if it breaks. The page is generated from `tests/project/originals`. Deliberate
differences are on [a page of their own](../differences.md); recordings of the originals (`tests/conformance`) prove the
exact words.
"""
GUIDE_OPENING = """\
# The guide to tools, section by section

tildone's tools and extensions follow pi-dev-kit's guide to tools, in Python. For each point of the guide, this page
names its counterpart, where it is, and the test that fails if it breaks. The page is generated from
`tests/project/originals`. How to use it all is in [Write a tool](../how-to/write-a-tool.md).
"""


class Section(NamedTuple):
    """A section or point of a document."""

    name: str
    what: str
    file: str
    test: str

    @property
    def path(self) -> str:
        """The file, relative to the project's root."""
        return self.file if "/" in self.file and (ROOT / self.file).exists() else f"src/tildone/{self.file}"


def sections(document: str) -> list[Section]:
    """Return the rows of a document's table: name, what there is here, file and test, separated by bars."""
    rows = FOLDER.joinpath(f"{document}.txt").read_text(encoding="utf-8").splitlines()
    return [Section(*(VECTORS if cell == "VECTORS" else cell for cell in row.split(" | "))) for row in rows]


DOCUMENTS = {
    "pi-til-done: Architecture": sections("til_done_architecture"),
    "pi-til-done: Tool Reference": sections("til_done_tools"),
    "oh-my-pi: `todo_write`": sections("todo_write"),
    "MyCodeAgent: `TodoWrite`": sections("declared"),
}
GUIDE = sections("guide")
PAGES: dict[Path, Callable[[], str]] = {
    ROOT / "docs" / "reference" / "originals.md": lambda: _page(OPENING, DOCUMENTS),
    ROOT / "docs" / "reference" / "guide.md": lambda: _page(GUIDE_OPENING, {"": GUIDE}),
}


def _page(opening: str, documents: dict[str, list[Section]]) -> str:
    parts = [opening]
    for title, rows in documents.items():
        lines = [f"## {title}\n"] if title else []
        lines += ["| section | here | file | test |", "|---|---|---|---|"]
        lines += [f"| {row.name} | {row.what} | `{row.path}` | `{_test_id(row.test)}` |" for row in rows]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _test_id(test: str) -> str:
    file, _, name = test.partition("::")
    return f"tests/{file}::test_{name}" if name else f"tests/{file}"
