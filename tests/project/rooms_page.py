"""The generated part of `docs/architecture.md`: the drawing of the rooms and the tables below it."""

import re
from collections import defaultdict
from collections.abc import Iterable

from tests.project.source import ROOT, Module, contract, imports, modules, rooms

PAGE = ROOT / "docs" / "architecture.md"
GENERATED = re.compile(r"(?<=<!-- generated from the source -->\n).*(?=<!-- end -->)", re.DOTALL)


def page() -> str:
    """Return the page as it should be now."""
    text = PAGE.read_text(encoding="utf-8")
    return GENERATED.sub(lambda _: f"\n{_drawing()}\n{_table()}\n", text)


def layers() -> list[list[str]]:
    """Return the layers that import-linter enforces, highest first; only rooms that exist."""
    named = [re.findall(r"\w+", layer) for layer in contract("direction")["layers"]]
    return [existing for layer in named if (existing := [room for room in layer if room in rooms()])]


def edges() -> dict[str, set[str]]:
    """Return which rooms each room imports, read from its files."""
    found: dict[str, set[str]] = defaultdict(set)
    for module in modules().values():
        used = {modules()[name].room for name in imports(module) if name in modules()}
        found[module.room] |= used - {module.room, ""}
    return found


def lines_of(members: Iterable[Module]) -> int:
    return sum(len(module.path.read_text(encoding="utf-8").splitlines()) for module in members)


def shares() -> dict[str, float]:
    """Return the share of the source lines that each room has."""
    total = lines_of(modules().values())
    return {room: lines_of(_members(room)) / total for room in rooms()}


def without_summary() -> list[str]:
    """Return the rooms whose first module does not say what the room holds."""
    return [name for name, module in rooms().items() if not module.summary]


def _members(room: str) -> list[Module]:
    return [module for module in modules().values() if module.room == room]


def _drawing() -> str:
    """Draw the layers as boxes and the imports as arrows; an arrow that others imply is left out."""
    ordered = layers()
    lines = ["```mermaid", "flowchart TD"]
    for number, layer in enumerate(ordered):
        lines.append(f"    subgraph layer{number}[ ]")
        lines.append("        direction LR")
        lines += [f"        {_node(room)}[{room}]" for room in layer]
        lines.append("    end")
    lines += [f"    {_node(room)} --> {_node(below)}" for room, below in _drawn_edges(ordered)]
    return "\n".join([*lines, "```", ""])


def _drawn_edges(ordered: list[list[str]]) -> list[tuple[str, str]]:
    direct = edges()
    reached: dict[str, set[str]] = {}
    for room in [room for layer in reversed(ordered) for room in layer]:
        reached[room] = direct[room].union(*(reached[below] for below in direct[room]))
    return [
        (room, below)
        for layer in ordered
        for room in layer
        for below in sorted(direct[room])
        if not any(below in reached[other] for other in direct[room])
    ]


def _node(room: str) -> str:
    return f"room_{room.strip('_')}"


def _table() -> str:
    shared = shares()
    rows = [
        f"| `{room}` | {rooms()[room].summary} | {shared[room]:.0%} | {_below(room)} |"
        for layer in layers()
        for room in layer
    ]
    return "\n".join(["| room | what it holds | lines | imports |", "|---|---|---|---|", *rows])


def _below(room: str) -> str:
    return ", ".join(f"`{name}`" for name in sorted(edges()[room])) or "nothing"
