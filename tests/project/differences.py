"""The deliberate differences between tildone and the tools that it re-implements, with the reasons.

Each difference has a row in `originals/differences.txt`, a test (`tests/test_differences.py`) and an entry in
`docs/reference/originals.md`. Recorded conformance vectors that show the original's behaviour are tagged with the id of
the difference or with one of its tags, the last cell of its row.
"""

from pathlib import Path
from typing import NamedTuple


class Difference(NamedTuple):
    """One deliberate difference. `tags` are further tags for vectors that show the original's behaviour."""

    id: str
    original: str
    tildone: str
    why: str
    tags: tuple[str, ...] = ()


def _difference(row: str) -> Difference:
    *cells, tags = row.split(" |")
    name, original, ours, why = map(str.strip, cells)
    return Difference(name, original, ours, why, tuple(tags.split()))


_ROWS = Path(__file__).parent.joinpath("originals", "differences.txt").read_text(encoding="utf-8")
DIFFERENCES = tuple(map(_difference, _ROWS.splitlines()))
