"""How many events were written when: counts in equal intervals of time."""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def counts_of(times: Iterable[int], begin: int, end: int, buckets: int) -> list[int]:
    """Count times in `buckets` equal intervals of [begin, end). What is outside is not counted."""
    counts = [0] * buckets
    for at in times:
        if begin <= at < end:
            counts[(at - begin) * buckets // (end - begin)] += 1
    return counts


def filled(rows: Iterable[tuple[int, int]], buckets: int) -> list[int]:
    """Return the counts of all intervals from those that are not empty, each with its number."""
    counts = [0] * buckets
    for number, count in rows:
        counts[number] = count
    return counts
