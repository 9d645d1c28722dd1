"""The time axis of pictures: linear in time, with long times without events drawn as short breaks."""

from __future__ import annotations

from bisect import bisect_right

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Sequence

MIN_BREAK_MS = 10 * 60_000
"""A time without events that is longer than this is drawn as a break."""

MAX_TICKS = 8
_MINUTE, _HOUR = 60_000, 3_600_000
_TICK_STEPS = (
    *(minutes * _MINUTE for minutes in (1, 2, 5, 10, 15, 30)),
    *(hours * _HOUR for hours in (1, 2, 3, 6, 12, 24)),
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
        """Return the place of a time; times before the start or after the end are at the edge."""
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
    """Return an axis from the first to the last of the times of events, which are in ascending order; at least one.

    Breaks are `break_width` wide, or narrower if they would take more than half of the axis.
    """
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
