"""Measure actions in turns, so that other load on the machine affects all of them alike."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

MS, US = 1_000, 1_000_000


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: a time, its baseline's time, and the ratio aimed at."""

    name: str
    base: str
    aim: float
    took: float = 0
    base_took: float = 0
    skipped: str = ""

    @property
    def ratio(self) -> float:
        return self.took / self.base_took

    def __str__(self) -> str:
        if self.skipped:
            return f"{self.name:<45} {self.base:<28} skipped: {self.skipped}"
        verdict = "PASS" if self.ratio <= self.aim else "over"
        times = f"{shown(self.took):>9} {shown(self.base_took):>9}"
        return f"{self.name:<45} {self.base:<28} {times} {self.ratio:6.2f} ≤ {self.aim:<4g} {verdict}"


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident memory of a process and the most that is aimed at, in megabytes. It is compared as a row is."""

    name: str
    took: float
    base_took: float
    skipped: str = ""

    def __str__(self) -> str:
        verdict = "PASS" if self.took <= self.base_took else "over"
        unit, factor = ("MB", 1.0) if self.base_took >= 1 else ("kB", 1024.0)
        took, most = self.took * factor, self.base_took * factor
        return f"{self.name:<45} {f'resident memory, {unit}':<44} {took:9.1f} ≤ {most:<6g} {verdict}"


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount of something, and the most that is aimed at. It is compared as a row is."""

    name: str
    unit: str
    took: float = 0
    base_took: float = 0
    skipped: str = ""

    def __str__(self) -> str:
        if self.skipped:
            return f"{self.name:<45} {self.unit:<28} skipped: {self.skipped}"
        verdict = "PASS" if self.took <= self.base_took else "over"
        return f"{self.name:<45} {self.unit:<44} {self.took:9.1f} ≤ {self.base_took:<6g} {verdict}"


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of a workload, the parts that they consist of, and the most that is aimed at."""

    dialect: str
    parts: str
    total: int
    most: int

    def __str__(self) -> str:
        verdict = "PASS" if self.total <= self.most else "over"
        return f"{f'tokens: {self.dialect}':<45} {self.parts:<44} {self.total:6} ≤ {self.most:<6} {verdict}"


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured of tildone or of a peer, without an aim."""

    name: str
    parts: str
    figure: str = ""
    skipped: str = ""

    def __str__(self) -> str:
        if self.skipped:
            return f"{self.name:<45} {self.parts:<44} skipped: {self.skipped}"
        return f"{self.name:<45} {self.parts:<44} {self.figure:>9}"


AnyRow = Row | Memory | Amount | Tokens | Figure


def medians(acts: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The median time of each action in seconds. Actions alternate in each round, after one unmeasured round."""
    times: list[list[float]] = [[] for _ in acts]
    for act in acts:
        act()
    for _ in range(rounds):
        for act, taken in zip(acts, times, strict=True):
            begun = perf_counter()
            act()
            taken.append(perf_counter() - begun)
    return [median(taken) for taken in times]


def resident_megabytes(pid: int) -> float:
    """The resident memory of a process; 0 if the system does not tell."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def shown(seconds: float) -> str:
    return f"{seconds * MS:.1f} ms" if seconds >= 1 / MS else f"{seconds * US:.1f} µs"
