"""Compare two checkouts row by row: `python -m bench --against PATH`.

Each group of rows runs in a process of its own, with one checkout's `bench` and `src` first on the import path, so that
each checkout measures itself. The two take turns, several times over: a slow minute of the machine affects both. A row
is compared by its ratio to its own baseline, or by its number of tokens. The noise of a row is the spread between the
repeats of one checkout; only a change beyond the noise counts.

Rows are matched by name, so a row must keep its name for as long as it is compared.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.groups import Group

HERE = Path(__file__).parents[1]
MIN_NOISE = 0.05

# Executed in the checkout that is measured, which may be older than this file: it relies on `bench.MODULE.rows` only.
MEASURE = """
import importlib, json, pathlib, sys
module, needs_folder, arguments, options = json.loads(sys.argv[1])
if needs_folder:
    arguments[0] = pathlib.Path(arguments[0])
for row in importlib.import_module(f"bench.{module}").rows(*arguments, **options):
    if hasattr(row, "total"):
        print(json.dumps([f"tokens: {row.dialect}", row.total]))
    elif not row.skipped:
        print(json.dumps([row.name, row.took / row.base_took]))
"""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One row's figures in both checkouts, one for each repeat."""

    name: str
    before: Sequence[float]
    after: Sequence[float]

    @property
    def change(self) -> float:
        """The later median divided by the earlier one."""
        return median(self.after) / median(self.before)

    @property
    def noise(self) -> float:
        """The spread between the repeats of one checkout, relative to the smallest."""
        return max(max(figures) / min(figures) - 1 for figures in (self.before, self.after))

    @property
    def verdict(self) -> str:
        bound = max(self.noise, MIN_NOISE)
        return "slower" if self.change > 1 + bound else "faster" if self.change < 1 - bound else "same"

    def __str__(self) -> str:
        figures = f"{median(self.before):9.2f} {median(self.after):9.2f} {self.change:7.2f} {self.noise:7.0%}"
        return f"{self.name:<45} {figures}  {self.verdict}"


HEADING = f"{'row (ratio to its baseline)':<45} {'before':>9} {'after':>9} {'change':>7} {'noise':>7}"


def compare(groups: Sequence[Group], other: Path, repeats: int, *, quick: bool) -> Iterator[Comparison]:
    """Measure both checkouts in turns; rows that only one of them has are omitted."""
    for group in groups:
        before: dict[str, list[float]] = {}
        after: dict[str, list[float]] = {}
        for _ in range(repeats):
            for checkout, figures in ((other, before), (HERE, after)):
                for name, figure in measure(group, checkout, quick=quick):
                    figures.setdefault(name, []).append(figure)
        yield from (Comparison(name, before[name], found) for name, found in after.items() if name in before)


def measure(group: Group, checkout: Path, *, quick: bool) -> Iterator[tuple[str, float]]:
    """Yield the rows of one group, measured by a checkout in a process of its own."""
    paths = os.pathsep.join(map(str, (checkout / "src", checkout)))
    with tempfile.TemporaryDirectory() as folder:
        arguments, options = group.call(folder, quick=quick)
        request = json.dumps([group.module, group.needs_folder, arguments, options])
        command = [sys.executable, "-c", MEASURE, request]
        environ = {**os.environ, "PYTHONPATH": paths}
        done = subprocess.run(command, cwd=checkout, env=environ, check=True, stdout=subprocess.PIPE, text=True)
    for line in done.stdout.splitlines():
        name, figure = json.loads(line)
        yield name, figure
