"""Amounts for people: durations, ages, sizes, tokens and money, bounds of nudges."""

from __future__ import annotations

from tildone.plan.events import Bound

_SIZE_UNITS = ("KB", "MB", "GB", "TB", "PB")
_BYTES_PER_UNIT = 1024

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


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


def copied_words(text: str, *, certain: bool) -> str:
    """Return what to tell the person. A copy is not certain if only the terminal was asked for it."""
    if not certain:
        return "Copied, if the terminal allows it"
    return f"Copied {format_count(text.count(chr(10)) + 1, 'line')}"


def format_duration(milliseconds: int) -> str:
    """Format a duration in its two largest units: `450ms`, `3.2s`, `1m 15s`, `2h 5m`."""
    if milliseconds < SECOND:
        return f"{milliseconds}ms"
    tenths = round(milliseconds, -2)
    if tenths < MINUTE:
        return f"{tenths / SECOND:.1f}s"
    rest = round(milliseconds, -3)
    parts: list[str] = []
    for unit, length in (("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND)):
        amount, rest = divmod(rest, length)
        if amount or parts:
            parts.append(f"{amount}{unit}")
    return " ".join(parts[:2])


_THOUSAND, _MILLION = 1_000, 1_000_000

SEPARATOR = " · "


def usage_text(worked: int | None = None, tokens: int | None = None, cost: float | None = None, nudges: int = 0) -> str:
    """Return the nudges, the time in milliseconds, the tokens and the cost in dollars, as far as they are known."""
    parts = [f"told to go on {_times(nudges)}"] if nudges else []
    parts += [] if worked is None else [about(worked)]
    parts += [token_count(tokens)] if tokens else []
    parts += [dollars(cost)] if cost else []
    return SEPARATOR.join(parts)


def _times(count: float) -> str:
    return "once" if count == 1 else f"{count} times"


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
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def days(milliseconds: int) -> str:
    return "today" if milliseconds < DAY else format_count(milliseconds // DAY, "day")


def ago(milliseconds: int) -> str:
    for unit, length in (("day", DAY), ("hour", HOUR), ("minute", MINUTE)):
        if milliseconds >= length:
            return f"{format_count(milliseconds // length, unit)} ago"
    return "just now"


def size(count: int) -> str:
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
    """Return an amount of money: `$1.92`, `$0.03`; below one dollar, also tenths of cents that matter: `$0.015`."""
    text = f"${amount:,.{3 if 0 < amount < 1 else 2}f}"
    if text == "$0.000":
        return "<$0.001"
    return text[:-1] if text[-4] == "." and text[-1] == "0" else text


_BOUNDS = {
    Bound.NUDGES: "told to go on {times}, and nothing changed",
    Bound.DRIFT: "told to go on {times}, and no task was closed or added",
    Bound.SAME: "stopped {times} more with the same words and nothing done",
    Bound.TIME: "no task was closed or added in {limit} minutes",
    Bound.COST: "the agents of this plan have cost {dollars}",
    Bound.TOTAL: "told to go on {times} since you last spoke",
    Bound.HOURS: "{limit} hours have passed since you last spoke",
    Bound.IDLE_REQUESTS: "{limit} requests to the model, and no task was closed or added",
    Bound.REQUESTS: "{limit} requests to the model since you last spoke",
    Bound.TOKENS: "the agents of this plan have used {tokens} tokens",
    Bound.TASK_COST: "the task in progress has cost {dollars}",
    Bound.TASK_TOKENS: "the task in progress has used {tokens} tokens",
    Bound.TASK_TIME: "the task in progress has taken {limit} minutes",
    Bound.HOST: "told to go on {times}, the limit of the coding agent",
}


def describe_bound(bound: Bound, limit: float) -> str:
    """Return a bound that ended automatic continuation as a sentence without a capital letter or a full stop."""
    amounts = {"dollars": dollars(limit), "tokens": token_count(int(limit))}
    return _BOUNDS[bound].format(limit=limit, times=_times(limit), **amounts)
