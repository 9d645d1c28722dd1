"""What a task took, as a short text: `12 min · 84k · $0.41`."""

from __future__ import annotations

_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))
_THOUSAND, _MILLION = 1_000, 1_000_000
_CENT = 0.01

SEPARATOR = " · "


def usage_text(worked: int | None = None, tokens: int | None = None, cost: float | None = None, nudges: int = 0) -> str:
    """Return the nudges, the time in milliseconds, the tokens and the cost in dollars, as far as they are known."""
    parts = [f"{nudges} nudge{'' if nudges == 1 else 's'}"] if nudges else []
    parts += [] if worked is None else [about(worked)]
    parts += [token_count(tokens)] if tokens else []
    parts += [dollars(cost)] if cost else []
    return SEPARATOR.join(parts)


def about(milliseconds: int) -> str:
    """Return a time in its largest unit: `40 s`, `12 min`, `6 h`, `3 d`."""
    size, unit = next((each for each in _UNITS if milliseconds >= each[0]), _UNITS[-1])
    return f"{round(milliseconds / size)} {unit}"


def token_count(tokens: int) -> str:
    """Return a number of tokens: `950`, `184k`, `1.2M`."""
    if tokens < _THOUSAND:
        return str(tokens)
    return f"{tokens // _THOUSAND}k" if tokens < _MILLION else f"{tokens / _MILLION:.1f}M"


def dollars(amount: float) -> str:
    """Return an amount of money: `$1.92`, `$0.03`, `$0.0042`."""
    digits = 2 if amount >= _CENT or not amount else 4
    return f"${amount:,.{digits}f}"
