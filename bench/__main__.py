"""Measure tildone against baselines of the same machine: `python -m bench`.

Times differ from machine to machine and from minute to minute, so each row is a ratio to a baseline that is measured in
the same run. `--against` compares two checkouts.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.compare import HEADING, compare
from bench.groups import GROUPS, Group
from bench.measure import AnyRow

NOT_NAMED = [group.module for group in GROUPS if not group.installs]
ONLY = "a group of rows; `peers` installs other todo lists, and is measured only if it is named"


def main() -> None:
    """Print the table. A row over its aim is reported and is not an error."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure tildone, and print ratios.")
    parser.add_argument(
        "--quick", action="store_true", help="measure each row briefly, to show that it can be measured"
    )
    parser.add_argument("--only", action="append", choices=[group.module for group in GROUPS], help=ONLY)
    parser.add_argument("--against", type=Path, metavar="PATH", help="compare with another checkout of tildone")
    parser.add_argument("--repeats", type=int, default=3, help="how often each checkout is measured (default 3)")
    options = parser.parse_args()
    groups = [group for group in GROUPS if group.module in (options.only or NOT_NAMED)]
    if options.against:
        if any(group.installs for group in groups):
            parser.error("--against compares checkouts of tildone, not other programs")
        print(HEADING)
        for comparison in compare(groups, options.against.resolve(), options.repeats, quick=options.quick):
            print(comparison, flush=True)
        return
    with tempfile.TemporaryDirectory() as name:
        for row in measured(groups, Path(name), quick=options.quick):
            print(row, flush=True)


def measured(groups: Sequence[Group], folder: Path, *, quick: bool) -> Iterator[AnyRow]:
    """Yield every row of these groups as soon as it is measured."""
    for group in groups:
        yield from group.rows(folder, quick=quick)


if __name__ == "__main__":
    main()
