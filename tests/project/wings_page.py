"""The generated parts of `docs/architecture.md`: the wings, and the use cases on each surface."""

import re
from collections import defaultdict

from tests.project import use_cases
from tests.project.source import ROOT, contract, imports, modules, wings

PAGE = ROOT / "docs" / "architecture.md"
GENERATED = re.compile(r"(<!-- generated from the source -->\n).*?(<!-- end -->)", re.DOTALL)


def page() -> str:
    """Return the page as it should be now."""
    text = PAGE.read_text(encoding="utf-8")
    parts = iter((f"{_drawing()}\n{_table()}", use_cases.table()))
    return GENERATED.sub(lambda mark: f"{mark[1]}\n{next(parts)}\n{mark[2]}", text)


def layers() -> list[list[str]]:
    """Return the layers that import-linter enforces, highest first; only wings."""
    named = [re.findall(r"\w+", layer) for layer in contract("direction")["layers"]]
    return [existing for layer in named if (existing := [wing for wing in layer if wing in wings()])]


def edges() -> dict[str, set[str]]:
    """Return which wings each wing imports, read from its files."""
    found: dict[str, set[str]] = defaultdict(set)
    for module in modules().values():
        used = {modules()[name].wing for name in imports(module) if name in modules()}
        found[module.wing] |= (used & wings().keys()) - {module.wing}
    return found


def _drawing() -> str:
    """Draw the wings and their imports from left to right; an arrow that others imply is left out."""
    lines = ["```mermaid", "flowchart LR"]
    lines += [f"    {wing} --> {below}" for wing, below in _drawn_edges()]
    return "\n".join([*lines, "```", ""])


def _drawn_edges() -> list[tuple[str, str]]:
    direct, ordered = edges(), [wing for layer in layers() for wing in layer]
    reached: dict[str, set[str]] = {}
    for wing in reversed(ordered):
        reached[wing] = direct[wing].union(*(reached[below] for below in direct[wing]))
    drawn = [(wing, below) for wing in ordered for below in sorted(direct[wing])]
    return [(wing, below) for wing, below in drawn if not any(below in reached[other] for other in direct[wing])]


def _table() -> str:
    rows = [f"| `{wing}` | {wings()[wing].summary} |" for layer in layers() for wing in layer]
    return "\n".join(["| wing | what it holds |", "|---|---|", *rows])
