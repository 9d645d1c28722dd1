"""The page about the originals: what differs, where each section of their documents is implemented, what proves it."""

from pathlib import Path
from typing import NamedTuple

from tests.project.differences import DIFFERENCES, Difference
from tests.project.source import ROOT

FOLDER = Path(__file__).parent
VECTORS = "conformance/test_vectors.py::a_vector_is_answered_as_recorded"
"""The test that replays the recordings of the originals."""

PAGE = ROOT / "docs" / "reference" / "originals.md"
OPENING = """\
# The originals

tildone re-implements the todo tools of pi-til-done, `todo_write` of oh-my-pi and `TodoWrite` of MyCodeAgent; its tools
and extensions follow pi-dev-kit's guide to tools. Recordings of the three are replayed against it, which proves the
exact words (`tests/conformance`). This page is for maintainers: it lists what differs on purpose, and names for each
section of the five documents what tildone has, where it is, and the test that fails if it breaks. It is generated from
`tests/project/differences.py` and `tests/project/originals` by `python3 do.py docs`.

## Deliberate differences

Each has a test of its name in `tests/test_differences.py`.
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
    "pi-dev-kit: the guide to tools": sections("guide"),
}


def page() -> str:
    """Return the whole page."""
    return "\n".join([OPENING, *map(_difference, DIFFERENCES), *(_table(*each) for each in DOCUMENTS.items())])


def _difference(difference: Difference) -> str:
    title = difference.id.replace("-", " ").capitalize()
    return (
        f"### {title}\n\n- *The original:* {difference.original}\n- *tildone:* {difference.tildone}\n"
        f"- *Why:* {difference.why}\n"
    )


def _table(title: str, rows: list[Section]) -> str:
    lines = [f"## {title}", "", "| section | here | file | test |", "|---|---|---|---|"]
    lines += [f"| {row.name} | {row.what} | `{row.path}` | `{_test_id(row.test)}` |" for row in rows]
    return "\n".join(lines) + "\n"


def _test_id(test: str) -> str:
    file, _, name = test.partition("::")
    return f"tests/{file}::test_{name}" if name else f"tests/{file}"
