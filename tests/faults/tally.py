"""What a part of the campaign counts, and what it shows of it."""

import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

BAD = (
    *("crashes", "hangs", "lost", "wrong_plans", "breaches", "touched", "left_undone"),
    *("unbounded", "stopped_early", "got_through"),
)
"""The counts that have to stay 0."""


@dataclass
class Tally:
    """The counts of one part: `inputs`, those in `BAD`, and others that are only shown."""

    part: str
    counts: Counter[str] = field(default_factory=Counter)
    shown: float = 0

    def add(self, **counts: int) -> None:
        """Add to counts, and show them on a terminal, at most once a second."""
        self.counts.update(counts)
        if sys.stdout.isatty() and time.monotonic() - self.shown > 1:
            self.shown = time.monotonic()
            print(f"\r\x1b[K{self.line()}", end="", flush=True)

    def line(self) -> str:
        """The counts as a line."""
        counted = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in self.counts.items())
        return f"{self.part:14} {counted or 'nothing'}"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is tried: kills, copies and so on, odd inputs, and for how long; and the folder for failures."""

    seed: int
    folder: Path
    kills: int
    copies: int
    jumps: int
    damages: int
    changes: int
    inputs: int
    seconds: float
    is_long: bool


def short(seed: int, folder: Path) -> Plan:
    """Return what takes less than a minute."""
    return Plan(seed, folder, 10, 6, 300, 60, 2, 3_000, 15, is_long=False)


def long(seed: int, folder: Path, inputs: int = 1_000_000, minutes: float = 60) -> Plan:
    """Return what takes up to an hour."""
    return Plan(seed, folder, 200, 50, 20_000, 2_000, 25, inputs, minutes * 60, is_long=True)
