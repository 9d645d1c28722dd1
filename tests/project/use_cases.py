"""The use cases and how each surface offers them: the table in `docs/architecture.md`."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tildone.app.who import FORM, Surface
from tildone.base.keys import ALL_BINDINGS
from tildone.screens.widgets.prompt import first_key

NOT_THERE = "–"


class UseCase(NamedTuple):
    """What can be done, the function or method below `tildone.app` that does it, and by what on which surface.

    The ways are those of `tildone.app.who`.
    """

    what: str
    home: str
    commands: tuple[str, ...]
    keys: tuple[str, ...]
    routes: tuple[str, ...]
    mcp: tuple[str, ...]
    fleet: tuple[str, ...]


def _use_case(row: str) -> UseCase:
    what, home, *cells = row.split(" | ")
    commands, keys, routes, mcp, fleet = (() if cell == NOT_THERE else tuple(cell.split(", ")) for cell in cells)
    return UseCase(what, home, commands, keys, routes, mcp, fleet)


_ROWS = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
USE_CASES = tuple(map(_use_case, _ROWS.splitlines()))


def ways(case: UseCase) -> dict[Surface, tuple[str, ...]]:
    """Return by what a use case is reached on each surface."""
    surfaces = (Surface.COMMAND_LINE, Surface.WATCH, Surface.BOARD, Surface.MCP, Surface.FLEET)
    return dict(zip(surfaces, case[2:], strict=True))


def table() -> str:
    rows = [f"| {case.what} | `app.{case.home}` | {' | '.join(_cells(case))} |" for case in USE_CASES]
    head = ["| use case | in | command line, `fleet` | key | board | MCP |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *rows])


def _cells(case: UseCase) -> tuple[str, ...]:
    commands = [*case.commands, *(f"fleet {word}" for word in case.fleet)]
    keys = dict.fromkeys(first_key(ALL_BINDINGS, name) for name in case.keys)
    routes = [route.removeprefix("/api") for route in case.routes]
    tools = ", ".join("a form" if way == FORM else "a tool" for way in case.mcp)
    return tuple(cell or NOT_THERE for cell in (*map(_quoted, (commands, keys, routes)), tools))


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)
