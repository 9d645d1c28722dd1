"""How much, how large and how long, as a person reads it."""

from __future__ import annotations

DAY = 86_400_000
"""Milliseconds."""

SPANS = {"d": ("day", 1), "w": ("week", 7), "m": ("month", 30), "y": ("year", 365)}


def many(count: int, what: str) -> str:
    """So many of something."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def size(count: int) -> str:
    """So many bytes."""
    amount, unit = float(count), "bytes"
    for larger in ("KB", "MB", "GB", "TB"):
        if amount < 1000:  # noqa: PLR2004  the next unit begins there
            break
        amount, unit = amount / 1000, larger
    return f"{amount:,.0f} {unit}" if unit == "bytes" else f"{amount:,.1f} {unit}"


def age(milliseconds: int) -> str:
    """So many days, as people count them."""
    days = max(0, milliseconds // DAY)
    return "today" if not days else many(days, "day")
