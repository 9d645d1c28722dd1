"""Ratios that say whether tildone is fast, measured in one run: `python -m bench`.

Times differ from machine to machine and from minute to minute; what is aimed at is how they stand to each other.
"""

import argparse
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from bench import appending, calls, cold, hooks, jsonl, mcp, postgres, reading, tokens
from bench.measure import Row, Tokens


def main() -> None:
    """Print the table. What is over its aim is said, and is no error."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure tildone, and print ratios.")
    parser.add_argument("--quick", action="store_true", help="only show that everything can be measured")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as name:
        for row in measured(Path(name), quick=quick):
            print(row, flush=True)


def measured(folder: Path, *, quick: bool) -> Iterator[Row | Tokens]:
    """Every row, as it comes."""
    return chain(
        cold.rows(folder, 1 if quick else 30),
        hooks.rows(folder, 1 if quick else 30),
        calls.rows(folder, 3 if quick else 2000),
        appending.rows(folder, 3 if quick else 2000),
        mcp.rows(folder, 3 if quick else 1000),
        reading.rows(folder, 3 if quick else 2000, 1_000 if quick else 1_000_000),
        jsonl.rows(folder, 1 if quick else 5, 1_000 if quick else 100_000),
        postgres.rows(3 if quick else 2000, 1_000 if quick else 100_000, crowd=0.1 if quick else 1),
        tokens.rows(),
    )


if __name__ == "__main__":
    main()
