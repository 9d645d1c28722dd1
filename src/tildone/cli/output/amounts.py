"""Counts, sizes and ages, formatted for people."""

from __future__ import annotations

MILLISECONDS_PER_DAY = 86_400_000

AGE_UNITS = {"d": ("day", 1), "w": ("week", 7), "m": ("month", 30), "y": ("year", 365)}
"""The name and the days of each unit that `--older-than` takes."""


def counted(count: int, noun: str) -> str:
    """A number and its noun, in the plural unless the number is 1."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def size(count: int) -> str:
    """A number of bytes in the largest fitting decimal unit."""
    amount, unit = float(count), "bytes"
    for larger in ("KB", "MB", "GB", "TB"):
        if amount < 1000:  # noqa: PLR2004  the next unit begins there
            break
        amount, unit = amount / 1000, larger
    return f"{amount:,.0f} {unit}" if unit == "bytes" else f"{amount:,.1f} {unit}"


def age(milliseconds: int) -> str:
    """A duration in whole days."""
    days = max(0, milliseconds // MILLISECONDS_PER_DAY)
    return "today" if not days else counted(days, "day")


def ago(milliseconds: int) -> str:
    """How long ago something was, in the largest fitting unit."""
    for unit, length in (("day", MILLISECONDS_PER_DAY), ("hour", 3_600_000), ("minute", 60_000)):
        if milliseconds >= length:
            return f"{counted(milliseconds // length, unit)} ago"
    return "just now"
