"""Human-readable sizes, counts and durations."""

from __future__ import annotations

_BYTES = ("KB", "MB", "GB", "TB", "PB")
_STEP = 1024

_SECOND = 1000
_PARTS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", _SECOND))


def format_size(size: int) -> str:
    """A number of bytes: `0 B`, `1.5 KB`, `2.3 MB`."""
    if size < _STEP:
        return f"{size} B"
    amount = float(size)
    for unit in _BYTES:
        amount /= _STEP
        if round(amount, 1) < _STEP:
            return f"{amount:.1f} {unit}"
    return f"{amount:.1f} {_BYTES[-1]}"


def format_count(count: int, noun: str = "", plural: str = "") -> str:
    """A number of things: `1 file`, `1,234 files`; `plural` is for nouns that take more than an s."""
    if not noun:
        return f"{count:,}"
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def format_duration(milliseconds: int) -> str:
    """A duration in its two largest units: `450ms`, `3.2s`, `1m 15s`, `2h 5m`."""
    if milliseconds < _SECOND:
        return f"{milliseconds}ms"
    tenths = round(milliseconds, -2)
    if tenths < _PARTS[-2][1]:
        return f"{tenths / _SECOND:.1f}s"
    left = round(milliseconds, -3)
    parts: list[str] = []
    for unit, worth in _PARTS:
        amount, left = divmod(left, worth)
        if amount or parts:
            parts.append(f"{amount}{unit}")
    return " ".join(parts[:2])
