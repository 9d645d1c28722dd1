"""Amounts for people: durations, ages, sizes, tokens and money. Counts with a noun are in `kit.formatting`."""

from __future__ import annotations

from tildone.kit.formatting import format_count

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000

_THOUSAND, _MILLION = 1_000, 1_000_000
_CENT = 0.01

SEPARATOR = " · "


def usage_text(worked: int | None = None, tokens: int | None = None, cost: float | None = None, nudges: int = 0) -> str:
    """Return the nudges, the time in milliseconds, the tokens and the cost in dollars, as far as they are known."""
    parts = [format_count(nudges, "nudge")] if nudges else []
    parts += [] if worked is None else [about(worked)]
    parts += [token_count(tokens)] if tokens else []
    parts += [dollars(cost)] if cost else []
    return SEPARATOR.join(parts)


def about(milliseconds: int) -> str:
    """Return a time in its largest unit: `40 s`, `12 min`, `6 h`, `3 d`."""
    units = ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s"))
    size, unit = next((each for each in units if milliseconds >= each[0]), units[-1])
    return f"{round(milliseconds / size)} {unit}"


def elapsed(milliseconds: int) -> str:
    """Return a time in at most two units: `<1s`, `42s`, `12m`, `2h 5m`, `3d 4h`."""
    if milliseconds < SECOND:
        return "<1s"
    if milliseconds < HOUR:
        return short_age(milliseconds)
    large, small, units = (HOUR, MINUTE, "hm") if milliseconds < DAY else (DAY, HOUR, "dh")
    whole, rest = divmod(milliseconds, large)
    return f"{whole}{units[0]} {rest // small}{units[1]}" if rest >= small else f"{whole}{units[0]}"


def short_age(milliseconds: int) -> str:
    """Return an age in one unit: `12s`, `4m`, `2h`, `3d`."""
    for unit, length in (("d", DAY), ("h", HOUR), ("m", MINUTE)):
        if milliseconds >= length:
            return f"{milliseconds // length}{unit}"
    return f"{max(0, milliseconds) // SECOND}s"


def duration(seconds: float, *, tenths: bool = True) -> str:
    """Return a duration in words: `0.4 s`, `12 s`, `4 min 12 s`, `2 h 5 min`. Only the shortest have `tenths`."""
    minutes, rest = divmod(int(seconds), 60)
    if tenths and seconds < 10:  # noqa: PLR2004  tenths matter only for short runs
        return f"{seconds:.1f} s"
    if not minutes:
        return f"{rest} s"
    hours, left = divmod(minutes, 60)
    return f"{hours} h {left} min" if hours else f"{minutes} min {rest} s"


def stopwatch(seconds: float) -> str:
    """Return a short time: `0:38`."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def days(milliseconds: int) -> str:
    return "today" if milliseconds < DAY else format_count(milliseconds // DAY, "day")


def ago(milliseconds: int) -> str:
    """Return how long ago something was, in the largest fitting unit."""
    for unit, length in (("day", DAY), ("hour", HOUR), ("minute", MINUTE)):
        if milliseconds >= length:
            return f"{format_count(milliseconds // length, unit)} ago"
    return "just now"


def size(count: int) -> str:
    """Return a number of bytes in the largest fitting decimal unit."""
    amount, unit = float(count), "bytes"
    for larger in ("KB", "MB", "GB", "TB"):
        if amount < _THOUSAND:
            break
        amount, unit = amount / _THOUSAND, larger
    return f"{amount:,.0f} {unit}" if unit == "bytes" else f"{amount:,.1f} {unit}"


def token_count(tokens: int) -> str:
    """Return a number of tokens: `340`, `1.2k`, `184k`, `2.1M`."""
    if tokens < _THOUSAND:
        return str(tokens)
    unit, sign = (_THOUSAND, "k") if tokens < _MILLION else (_MILLION, "M")
    amount = tokens / unit
    return f"{amount:.1f}{sign}" if amount < 10 else f"{int(amount)}{sign}"  # noqa: PLR2004  two digits are enough


def dollars(amount: float) -> str:
    """Return an amount of money: `$1.92`, `$0.03`, `$0.0042`."""
    digits = 2 if amount >= _CENT or not amount else 4
    return f"${amount:,.{digits}f}"
