"""Human-readable sizes, counts and durations."""

from __future__ import annotations

_SIZE_UNITS = ("KB", "MB", "GB", "TB", "PB")
_BYTES_PER_UNIT = 1024

_SECOND = 1000
_DURATION_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", _SECOND))


def format_size(size: int) -> str:
    """Format a number of bytes: `0 B`, `1.5 KB`, `2.3 MB`."""
    if size < _BYTES_PER_UNIT:
        return f"{size} B"
    amount = float(size)
    for unit in _SIZE_UNITS:
        amount /= _BYTES_PER_UNIT
        if round(amount, 1) < _BYTES_PER_UNIT:
            return f"{amount:.1f} {unit}"
    return f"{amount:.1f} {_SIZE_UNITS[-1]}"


def format_count(count: int, noun: str = "", plural: str = "") -> str:
    """Format a count: `1 file`, `1,234 files`; `plural` is for irregular plurals."""
    if not noun:
        return f"{count:,}"
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def format_duration(milliseconds: int) -> str:
    """Format a duration in its two largest units: `450ms`, `3.2s`, `1m 15s`, `2h 5m`."""
    if milliseconds < _SECOND:
        return f"{milliseconds}ms"
    tenths = round(milliseconds, -2)
    if tenths < _DURATION_UNITS[-2][1]:
        return f"{tenths / _SECOND:.1f}s"
    rest = round(milliseconds, -3)
    parts: list[str] = []
    for unit, length in _DURATION_UNITS:
        amount, rest = divmod(rest, length)
        if amount or parts:
            parts.append(f"{amount}{unit}")
    return " ".join(parts[:2])
