"""Pictures: columns and bars of characters, figures in Prometheus' text format, elements of SVG, and a time axis.

The axis is linear in time, with long times without events drawn as short breaks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from tildone.base import value
from tildone.plan.text.amounts import HOUR, MINUTE
from tildone.plan.text.safe import clipped, printable
from tildone.plan.text.styles import clip_text

Attributes = Mapping[str, str | float]


_COLUMNS = " ▁▂▃▄▅▆▇█"
_BARS = " ▏▎▍▌▋▊▉█"
_EIGHTHS = 8


def column_chart(values: Sequence[int], rows: int) -> list[str]:
    """Return one column per value in `rows` lines; the largest takes all of them, and any value above 0 is visible."""
    largest = max(values, default=0)
    levels = [_level(each, largest, rows) for each in values]
    return ["".join(_COLUMNS[_part(level, row)] for level in levels) for row in reversed(range(rows))]


def bar(amount: int, largest: int, columns: int) -> str:
    """Return a bar of at most `columns`, which the largest amount takes in full; any amount above 0 is visible."""
    level = _level(amount, largest, columns)
    return "".join(_BARS[_part(level, column)] for column in range(columns)).rstrip()


def _level(amount: int, largest: int, cells: int) -> int:
    return max(round(amount * cells * _EIGHTHS / largest), 1) if amount > 0 else 0


def _part(level: int, cell: int) -> int:
    return min(max(level - cell * _EIGHTHS, 0), _EIGHTHS)


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_EXPOSITION_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Kind(Enum):
    """A gauge goes up and down; a counter only grows, until its process ends."""

    GAUGE = "gauge"
    COUNTER = "counter"


@value
class Sample:
    amount: float
    labels: tuple[tuple[str, str], ...] = ()


@value
class Family:
    """Figures of one name. The name of a counter ends with `_total`."""

    name: str
    kind: Kind
    help: str
    samples: tuple[Sample, ...]


def exposition(families: Iterable[Family]) -> str:
    lines = []
    for family in families:
        lines.append(f"# HELP {family.name} {family.help}")
        lines.append(f"# TYPE {family.name} {family.kind.value}")
        for sample in family.samples:
            pairs = [f'{name}="{text.translate(_EXPOSITION_ESCAPES)}"' for name, text in sample.labels]
            labels = f"{{{','.join(pairs)}}}" if pairs else ""
            lines.append(f"{family.name}{labels} {_number(sample.amount)}")
    return "".join(f"{line}\n" for line in lines)


def _number(amount: float) -> str:
    return str(int(amount)) if amount == int(amount) else repr(float(amount))


MAX_TEXT_COLUMNS = 200
"""Longer texts are cut; those of titles and descriptions too."""

_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "\ufffe": "\ufffd", "\uffff": "\ufffd"}
)
"""Characters with a meaning in XML, and the two that XML does not allow and that have no symbol of their own."""

_PALETTE = {
    "bg": ("fill", "#FAF9F6", "#111213"),
    "sunken": ("fill", "#F1EFEA", "#0C0D0E"),
    "text": ("fill", "#1C1B18", "#EDECE8"),
    "text2": ("fill", "#514E47", "#B9B7B0"),
    "text3": ("fill", "#68645B", "#97958E"),
    "line": ("stroke", "#E3E0D8", "#2B2F32"),
    "edge": ("stroke", "#8A857A", "#767B80"),
    "accent": ("fill", "#0B62C1", "#74B3FF"),
    "accent-line": ("stroke", "#0B62C1", "#74B3FF"),
    "accent-soft": ("fill", "#E4EEFA", "#172A41"),
    "ok-line": ("stroke", "#1B7340", "#63CE90"),
    "ok-soft": ("fill", "#E2F1E7", "#15301F"),
    "warn": ("fill", "#8A5200", "#EDB656"),
    "warn-line": ("stroke", "#8A5200", "#EDB656"),
    "warn-soft": ("fill", "#FBEFD9", "#35280F"),
    "bad": ("fill", "#AE3218", "#FF8F75"),
}
"""The colour of each class: its property, and its values in the light and the dark scheme."""

_BASE = (
    "text{font-family:system-ui,sans-serif;font-size:13px;unicode-bidi:isolate;font-variant-numeric:tabular-nums}"
    ".title{font-size:20px;font-weight:650}.heading{font-weight:620}.small{font-size:12px}"
    ".end{text-anchor:end}.middle{text-anchor:middle}.struck{text-decoration:line-through}.outline{fill:none}"
)


def style() -> str:
    light, dark = (
        "".join(f".{name}{{{rule[0]}:{rule[index]}}}" for name, rule in _PALETTE.items()) for index in (1, 2)
    )
    return f"<style>{_BASE}{light}@media (prefers-color-scheme:dark){{{dark}}}</style>"


def element(name: str, attributes: Attributes, *children: str) -> str:
    """Return an element. The children are elements, or texts that `escaped` returned."""
    # Numbers are exact to a tenth of a pixel.
    given = "".join(
        f' {key}="{each if isinstance(each, str) else f"{round(each, 1):g}"}"' for key, each in attributes.items()
    )
    return f"<{name}{given}>{''.join(children)}</{name}>" if children else f"<{name}{given}/>"


def escaped(text: str, columns: int = MAX_TEXT_COLUMNS) -> str:
    """Return one line of text from elsewhere for an element: printable, cut to `columns`, and without markup."""
    return clip_text(printable(clipped(text, columns * 2)), columns).translate(_ESCAPES)


def label(x: float, y: float, classes: str, text: str, columns: int = MAX_TEXT_COLUMNS) -> str:
    return element("text", {"x": x, "y": y, "class": classes}, escaped(text, columns))


MIN_BREAK_MS = 10 * MINUTE
"""A time without events that is longer than this is drawn as a break."""

MAX_TICKS = 8
_TICK_STEPS = (
    *(minutes * MINUTE for minutes in (1, 2, 5, 10, 15, 30)),
    *(hours * HOUR for hours in (1, 2, 3, 6, 12, 24)),
)


@value
class AxisPart:
    """A piece of the axis: the times in milliseconds, and the places on the axis where it begins and ends."""

    start: int
    end: int
    left: float
    right: float
    is_break: bool


@value
class TimeAxis:
    """The parts of an axis, from left to right, without gaps between them; at least one."""

    parts: tuple[AxisPart, ...]

    def place(self, at: int) -> float:
        index = bisect_right(self.parts, at, key=lambda part: part.start) - 1
        part = self.parts[max(index, 0)]
        if part.end == part.start:
            return part.left
        share = (min(max(at, part.start), part.end) - part.start) / (part.end - part.start)
        return part.left + share * (part.right - part.left)

    @property
    def breaks(self) -> tuple[AxisPart, ...]:
        return tuple(part for part in self.parts if part.is_break)

    def ticks(self) -> list[int]:
        """Return round times outside of the breaks, at most `MAX_TICKS`; there may be none."""
        busy = [part for part in self.parts if not part.is_break]
        for step in _TICK_STEPS:
            if sum((part.end - part.start) // step for part in busy) <= MAX_TICKS:
                rounded = (range(-(-part.start // step) * step, part.end + 1, step) for part in busy)
                found = [at for times in rounded for at in times]
                if len(found) <= MAX_TICKS:
                    return found
        return []


def time_axis(times: Sequence[int], width: float, break_width: float) -> TimeAxis:
    """Return an axis of ascending times of events, at least one; breaks take at most `break_width` and half of it."""
    spans: list[tuple[int, int, bool]] = []
    first = before = times[0]
    for at in times:
        if at - before > MIN_BREAK_MS:
            spans += [(first, before, False)] if before > first else []
            spans.append((before, at, True))
            first = at
        before = at
    spans += [(first, before, False)] if before > first or not spans else []
    return TimeAxis(tuple(_placed(spans, width, break_width)))


def _placed(spans: list[tuple[int, int, bool]], width: float, break_width: float) -> list[AxisPart]:
    busy = sum(end - start for start, end, is_break in spans if not is_break)
    breaks = sum(is_break for _, _, is_break in spans)
    if breaks:
        break_width = min(break_width, width / 2 / breaks) if busy else width / breaks
    scale = (width - breaks * break_width) / busy if busy else 0.0
    parts: list[AxisPart] = []
    left = 0.0
    for start, end, is_break in spans:
        right = left + (break_width if is_break else (end - start) * scale)
        parts.append(AxisPart(start, end, left, right, is_break))
        left = right
    return parts
