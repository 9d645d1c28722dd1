"""Groups of benchmark rows: the module that measures each, and the arguments of its `rows`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.measure import AnyRow


@dataclass(frozen=True, slots=True)
class Group:
    """A module of this package whose `rows` takes a scratch folder, if it `needs_folder`, and these arguments.

    A group that installs other programs is measured only if it is named, and says nothing about a change of tildone.
    """

    module: str
    full: tuple[int, ...]
    quick: tuple[int, ...]
    needs_folder: bool = True
    installs: bool = False
    options: dict[str, float] = field(default_factory=dict)
    quick_options: dict[str, float] = field(default_factory=dict)

    def call(self, folder: str, *, quick: bool) -> tuple[list[Any], dict[str, float]]:
        """The arguments of `rows`, ready for JSON."""
        numbers = self.quick if quick else self.full
        options = self.quick_options if quick else self.options
        return [*([folder] if self.needs_folder else []), *numbers], options

    def rows(self, folder: Path, *, quick: bool) -> Iterator[AnyRow]:
        """Measure the rows of this checkout."""
        numbers, options = self.call("", quick=quick)
        arguments = [folder, *numbers[1:]] if self.needs_folder else numbers
        found: Iterator[AnyRow] = import_module(f"bench.{self.module}").rows(*arguments, **options)
        return found


GROUPS = (
    Group("cold", (30,), (1,)),
    Group("first_paint", (10,), (1,)),
    Group("hooks", (30,), (1,)),
    Group("sizes", (15, 2_000, 10_000, 5_000), (1, 20, 20, 20)),
    Group("checks", (30, 50, 50_000), (1, 2, 20)),
    Group("supervisor", (30,), (1,)),
    Group("fleet", (1_000, 800), (4, 8), options={"idle_seconds": 20}, quick_options={"idle_seconds": 1}),
    Group("fleet_size", (10, 100), (2,), options={"idle_seconds": 20}, quick_options={"idle_seconds": 1}),
    Group("calls", (2000,), (3,)),
    Group("appending", (2000,), (3,)),
    Group("mcp", (1000, 15), (3, 1)),
    Group("board", (30, 30, 200, 1_000, 10_000), (1, 2, 2, 10, 20)),
    Group("board_plans", (5, 1_000, 10_000), (1, 10, 200)),
    Group("reading", (2000, 1_000_000), (3, 1_000)),
    Group("jsonl", (5, 100_000), (1, 1_000)),
    Group(
        "postgres", (2000, 100_000), (3, 1_000), needs_folder=False, options={"crowd": 1}, quick_options={"crowd": 0.1}
    ),
    Group("claims", (3, 100), (1, 2)),
    Group("transcript", (10_000, 100, 40, 5), (300, 4, 2, 1), needs_folder=False),
    Group("tokens", (), (), needs_folder=False),
    Group("peers", (10, 200), (1, 16), installs=True),
)
