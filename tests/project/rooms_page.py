"""The part of `docs/architecture.md` that is drawn from the source: the layers and the table of rooms."""

import re

from tests.project.source import ROOT, contract, imports, modules, rooms

PAGE = ROOT / "docs" / "architecture.md"
DRAWN = re.compile(r"(?<=<!-- drawn from the source -->\n).*(?=<!-- end -->)", re.DOTALL)


def page() -> str:
    """The page as it should be now."""
    text = PAGE.read_text(encoding="utf-8")
    return DRAWN.sub(lambda _: f"\n{_layers()}\n{_table()}\n", text)


def _layers() -> str:
    """One line a layer, highest first; only rooms that exist."""
    rows = [" | ".join(room for room in layer if room in rooms()) for layer in layers()]
    return "```text\n" + "\n".join(row for row in rows if row) + "\n```\n"


def layers() -> list[list[str]]:
    """The layers import-linter keeps, highest first."""
    return [re.findall(r"\w+", layer) for layer in contract("direction")["layers"]]


def _table() -> str:
    order = [room for layer in layers() for room in layer if room in rooms()]
    rows = [f"| `{room}` | {rooms()[room].summary} | {_below(room)} |" for room in order]
    return "\n".join(["| room | what it owns | imports |", "|---|---|---|", *rows])


def _below(room: str) -> str:
    own = [module for module in modules().values() if module.room == room]
    used = {modules()[name].room for module in own for name in imports(module) if name in modules()}
    return ", ".join(f"`{name}`" for name in sorted(used - {room, ""})) or "nothing"


def without_summary() -> list[str]:
    """The rooms whose opening module does not say what it owns."""
    return [name for name, module in rooms().items() if not module.summary]
