"""The statistics of a plan as an SVG picture: a lane for each task, open tasks over time, and marks, on one time axis.

Everything in the picture that has a place in time is drawn with the same axis, so that it can be read from top to
bottom: what was worked on, how many tasks were open then, and who intervened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tildone.base import replace, value
from tildone.plan.events import Tripped
from tildone.plan.history.authors import who
from tildone.plan.history.stats import MarkKind, Period, Stats, TaskStats, TimeMark
from tildone.plan.history.stats_lines import (
    LEGEND,
    estimate_sentence,
    heading,
    left_out_sentence,
    shown_tasks,
    usage_sentence,
)
from tildone.plan.model import Status
from tildone.plan.text.amounts import about, describe_bound, dollars, elapsed, token_count
from tildone.plan.text.charts import TimeAxis, element, escaped, label, style, time_axis

When = Callable[[int], str]
Box = dict[str, str | float]

WIDTH, PADDING = 960, 24
LABEL_COLUMNS = 44
TOP = 104
AXIS_HEIGHT = 48
"""The room for the labels of the axis between the lanes and the chart."""

PLOT_LEFT, PLOT_WIDTH = 328, 480
RIGHT = WIDTH - PADDING
LANE_HEIGHT, BAR_HEIGHT, MIN_BAR_WIDTH = 24, 12, 3
CHART_HEIGHT = 140
BREAK_WIDTH = 24
MIN_BREAK_WIDTH, MIN_BREAK_LABEL = 4, 22
"""Breaks narrower than the first are not drawn; those narrower than the second have no label."""

MIN_TICK_DISTANCE = 44
FUTURE_SHARE = 0.2
"""How much of the width an estimate may take."""

MAX_LANES = 150
BEGINNING = '<svg xmlns="http://www.w3.org/2000/svg" class="tildone-stats"'
"""How every picture begins, and no other file."""

NAME_LEFT, SIGN_LEFT = 42, 30
ROW_HEIGHT = 22
MIN_DISTANCE = 6
"""Marks that are closer together are drawn as one."""

MIN_COUNT_ROOM = 26
"""The distance to the next mark that the number beside a sign needs."""

_SHAPES = {
    MarkKind.CHANGE: ("M-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0Z", "text3"),
    MarkKind.NUDGE: ("M0 -6L6 0L0 6L-6 0Z", "warn"),
    MarkKind.PERSON: ("M0 -6L6 5L-6 5Z", "accent"),
    MarkKind.LABEL: ("M-4 6V-6L5 -3L-2.5 0V6Z", "text2"),
    MarkKind.LET_GO: ("M-5 -5H5V5H-5Z", "bad"),
}


@value
class _Canvas:
    """What every part of the picture needs: the data, the axis, and the formats of a time and of a time of day."""

    stats: Stats
    axis: TimeAxis
    when: When
    clock: When

    def x(self, at: int) -> float:
        return PLOT_LEFT + self.axis.place(at)

    @property
    def right(self) -> float:
        return PLOT_LEFT + self.axis.parts[-1].right


def stats_svg(title: str, stats: Stats, when: When, clock: When) -> str:
    has_estimate = stats.estimate.remaining is not None
    width = PLOT_WIDTH * (1 - FUTURE_SHARE) if has_estimate else PLOT_WIDTH
    canvas = _Canvas(stats, time_axis(stats.times, width, BREAK_WIDTH), when, clock)
    head = heading(title, stats)
    parts = [label(PADDING, 44, "text title", head, 80), label(PADDING, 68, "text2", _time_range(canvas))]
    lanes, y = _lanes(canvas, TOP)
    axis = _axis(canvas, TOP - 12, y)
    chart, y = _burn_down(canvas, y + AXIS_HEIGHT) if stats.has_course else ("", y + AXIS_HEIGHT)
    marks, y = _mark_rows(canvas, y + 28)
    sentences = (estimate_sentence(stats), usage_sentence(stats))
    words = "\n".join(label(PADDING, y + 20 + 18 * index, "text2", text) for index, text in enumerate(sentences))
    legend, y = _legend(y + 54)
    parts += [axis, lanes, chart, marks, words, legend]
    size = {"viewBox": f"0 0 {WIDTH} {y}", "width": WIDTH, "height": y}
    described = [element("title", {"id": "tildone-title"}, escaped(head)), _description(canvas)]
    described += [style(), _definitions(y), element("rect", {"class": "bg", "width": WIDTH, "height": y})]
    attributes = "".join(f' {key}="{each}"' for key, each in size.items())
    names = 'role="img" aria-labelledby="tildone-title tildone-desc"'
    return f"{BEGINNING}{attributes} {names}>\n" + "\n".join((*described, *parts)) + "\n</svg>\n"


def _time_range(canvas: _Canvas) -> str:
    first, last = (canvas.when(canvas.stats.times[index]) for index in (0, -1))
    worked = sum(entry.total(Status.IN_PROGRESS) for entry in canvas.stats.tasks)
    return f"{first} – {last} · {elapsed(worked)} in progress"


def _description(canvas: _Canvas) -> str:
    """The facts of the picture in sentences, for those who hear it."""
    stats = canvas.stats
    tasks = [f"{entry.task.text}: {_amounts(entry)}" for entry in shown_tasks(stats, 20)[0]]
    steps = f"{stats.open_steps[0][1]} open tasks at first, {stats.open} at the end."
    texts = (_time_range(canvas), steps, estimate_sentence(stats), usage_sentence(stats), *tasks)
    return element("desc", {"id": "tildone-desc"}, "\n".join(map(escaped, texts)))


def _definitions(height: int) -> str:
    stripe = element("path", {"d": "M0 0V6", "class": "warn-line", "stroke-width": 3})
    size: Box = {"width": 6, "height": 6, "patternUnits": "userSpaceOnUse", "patternTransform": "rotate(45)"}
    labels = element("rect", {"width": PLOT_LEFT - 8, "height": height})
    hatch = element("pattern", {"id": "tildone-hatch", **size}, stripe)
    return element("defs", {}, hatch, element("clipPath", {"id": "tildone-labels"}, labels))


def _lanes(canvas: _Canvas, y: int) -> tuple[str, int]:
    shown, left_out = shown_tasks(canvas.stats, MAX_LANES)
    rows = [_lane(canvas, entry, y + index * LANE_HEIGHT) for index, entry in enumerate(shown)]
    y += len(rows) * LANE_HEIGHT
    if left_out:
        rows.append(label(PADDING, y + 13, "text3 small", left_out_sentence(canvas.stats, left_out)))
        y += LANE_HEIGHT
    return "\n".join(rows), y


def _lane(canvas: _Canvas, entry: TaskStats, y: int) -> str:
    is_gone = entry.is_removed or entry.task.status is Status.ABANDONED
    classes = "text3 struck" if is_gone else "text"
    name = element("title", {}, escaped(entry.task.text))
    text = element(
        "text",
        {"x": PADDING, "y": y + 13, "class": classes, "clip-path": "url(#tildone-labels)"},
        escaped(f"{entry.task.status.icon} {entry.task.text}", LABEL_COLUMNS),
    )
    rule = _horizontal(PLOT_LEFT + PLOT_WIDTH, y + 9, "line")
    bars = [_bar(canvas, entry, period, y + 3) for period in _visible_periods(canvas, entry)]
    amounts = label(RIGHT, y + 13, "text2 end", _amounts(entry))
    return element("g", {}, name, text, rule, *bars, amounts)


def _bar(canvas: _Canvas, entry: TaskStats, period: Period, y: int) -> str:
    left, right = canvas.x(period.start), canvas.x(period.end)
    box: Box = {"x": left, "y": y, "width": max(right - left, MIN_BAR_WIDTH), "height": BAR_HEIGHT}
    what = "blocked" if period.status is Status.BLOCKED else "in progress"
    name = element("title", {}, escaped(f"{what}, {canvas.clock(period.start)} – {canvas.clock(period.end)}"))
    if period.status is Status.BLOCKED:
        return element("rect", box | {"class": "warn-line", "fill": "url(#tildone-hatch)"}, name)
    is_now = entry.task.status is Status.IN_PROGRESS and period.end == canvas.stats.times[-1]
    return element("rect", box | {"rx": 2, "class": "accent" if is_now else "ok-soft ok-line"}, name)


def _visible_periods(canvas: _Canvas, entry: TaskStats) -> list[Period]:
    """The periods of a task; those that follow each other within a pixel are one, so that the file stays small."""
    found: list[Period] = []
    for period in entry.periods:
        last = found[-1] if found else None
        if last and last.status is period.status and canvas.x(period.start) - canvas.x(last.end) < 1:
            found[-1] = replace(last, end=period.end)
        else:
            found.append(period)
    return found


def _amounts(entry: TaskStats) -> str:
    """The time in progress of a task, and its tokens and its cost if they are known."""
    amounts = ["blocked" if entry.worked is None else elapsed(entry.worked)]
    amounts += [] if entry.tokens is None else [f"{token_count(entry.tokens)} tok"]
    amounts += [] if entry.cost is None else [dollars(entry.cost)]
    return " · ".join(amounts)


def _axis(canvas: _Canvas, top: int, y: int) -> str:
    """The axis below the lanes: round times, and breaks through the whole picture."""
    found: list[str] = []
    for part in canvas.axis.breaks:
        if part.right - part.left < MIN_BREAK_WIDTH:
            continue
        height = y - top + (AXIS_HEIGHT + CHART_HEIGHT if canvas.stats.has_course else 0)
        box: Box = {"x": PLOT_LEFT + part.left, "y": top, "width": part.right - part.left, "height": height}
        middle, quiet = PLOT_LEFT + (part.left + part.right) / 2, about(part.end - part.start)
        name = element("title", {}, escaped(f"no events for {quiet}"))
        found.append(element("rect", {**box, "class": "sunken"}, name))
        found.append(_break_sign(middle, y))
        if part.right - part.left >= MIN_BREAK_LABEL:
            found.append(label(middle, y + 34, "text3 small middle", quiet))
    before = 0.0
    for at in canvas.axis.ticks():
        x = canvas.x(at)
        if x - before >= MIN_TICK_DISTANCE:
            found.append(element("line", {"x1": x, "x2": x, "y1": top, "y2": y + 4, "class": "line"}))
            found.append(label(x, y + 18, "text3 small middle", canvas.clock(at)))
            before = x
    found.append(_horizontal(canvas.right, y, "edge"))
    return "\n".join(found)


def _horizontal(right: float, y: float, look: str) -> str:
    return element("line", {"x1": PLOT_LEFT, "x2": right, "y1": y, "y2": y, "class": look})


def _break_sign(x: float, y: float) -> str:
    """Two strokes across the axis, drawn because few fonts have a character for them."""
    return element("path", {"d": f"M{x - 5:.1f} {y + 5:.1f}l4 -10m2 10l4 -10", "class": "edge outline"})


def _burn_down(canvas: _Canvas, y: int) -> tuple[str, int]:
    """The number of open tasks as steps, and the estimate as a dashed line."""
    steps = canvas.stats.open_steps
    most = max([1, *(count for _, count in steps)])
    bottom = y + CHART_HEIGHT
    # Of the steps that are drawn at one place, the last one remains.
    heights = {f"{canvas.x(at):.1f}": bottom - count * CHART_HEIGHT / most for at, count in steps}
    (left, first), *later = heights.items()
    path = f"M{left} {first:.1f}" + "".join(f"H{x}V{height:.1f}" for x, height in later) + f"H{canvas.right:.1f}"
    area = element("path", {"d": f"{path}V{bottom}H{left}Z", "class": "accent-soft"})
    line = element("path", {"d": path, "class": "accent-line outline", "stroke-width": 2})
    base = _horizontal(PLOT_LEFT + PLOT_WIDTH, bottom, "edge")
    names = [
        label(PADDING, y + 13, "text heading", "Open tasks"),
        label(PLOT_LEFT - 8, y + 9, "text3 small end", str(most)),
        label(PLOT_LEFT - 8, bottom + 4, "text3 small end", "0"),
    ]
    future = _future(canvas, bottom - steps[-1][1] * CHART_HEIGHT / most, bottom)
    return "\n".join((*names, area, line, base, *future)), bottom


def _future(canvas: _Canvas, y: float, bottom: int) -> list[str]:
    """The dashed line from the number of open tasks to none; if it is too long, its beginning."""
    remaining = canvas.stats.estimate.remaining
    if remaining is None:
        return []
    busy = next((part for part in canvas.axis.parts if not part.is_break and part.end > part.start), None)
    room = PLOT_WIDTH * FUTURE_SHARE
    needed = max(remaining * (busy.right - busy.left) / (busy.end - busy.start), 1) if busy else room
    run = min(needed, room)
    end = y + (bottom - y) * run / needed
    path = {"d": f"M{canvas.right:.1f} {y:.1f}L{canvas.right + run:.1f} {end:.1f}", "stroke-dasharray": "4 4"}
    words = f"about {elapsed(remaining)} left"
    return [element("path", path | {"class": "accent-line outline"}), label(RIGHT, y - 8, "text2 small end", words)]


def _mark_rows(canvas: _Canvas, y: int) -> tuple[str, int]:
    """The rows of marks, and the place below them."""
    rows: list[str] = []
    for kind, meaning in LEGEND.items():
        if marks := canvas.stats.of_kind(kind):
            rows.append(_sign(kind, SIGN_LEFT, y))
            rows.append(label(NAME_LEFT, y + 4, "text2", f"{meaning}: {len(marks)}"))
            rows += _row(canvas, kind, _clusters(marks, canvas.x), y)
            y += ROW_HEIGHT
    return "\n".join(rows), y


def _row(canvas: _Canvas, kind: MarkKind, clusters: list[tuple[float, list[TimeMark]]], y: int) -> Iterable[str]:
    following = [place for place, _ in clusters[1:]]
    for (place, marks), upcoming in zip(clusters, [*following, float("inf")], strict=True):
        words = _words(marks[0]) if len(marks) == 1 else f"{LEGEND[kind]}: {len(marks)}"
        yield _sign(kind, place, y, f"{words}, {canvas.when(marks[0].at)}")
        if len(marks) > 1 and upcoming - place >= MIN_COUNT_ROOM:
            yield label(place + 9, y + 4, "text3 small", str(len(marks)))


def _clusters(marks: Iterable[TimeMark], x: Callable[[int], float]) -> list[tuple[float, list[TimeMark]]]:
    found: list[tuple[float, list[TimeMark]]] = []
    for mark in marks:
        place = x(mark.at)
        if found and place - found[-1][0] < MIN_DISTANCE:
            found[-1][1].append(mark)
        else:
            found.append((place, [mark]))
    return found


def _words(mark: TimeMark) -> str:
    if isinstance(mark.event.fact, Tripped):
        return f"let go: {describe_bound(mark.event.fact.bound, mark.event.fact.limit)}"
    if mark.kind is MarkKind.LABEL:
        return f"label {mark.label}"
    return "told to go on" if mark.kind is MarkKind.NUDGE else f"changed by {who(mark.event)}"


def _sign(kind: MarkKind, x: float, y: float, words: str = "") -> str:
    path, colour = _SHAPES[kind]
    attributes = {"d": path, "transform": f"translate({x:.1f} {y:.1f})", "class": colour}
    return element("path", attributes, element("title", {}, escaped(words)) if words else "")


def _legend(y: int) -> tuple[str, int]:
    kinds: tuple[tuple[Box, str], ...] = (
        ({"class": "ok-soft ok-line"}, "worked on"),
        ({"class": "accent"}, "in progress now"),
        ({"class": "warn-line", "fill": "url(#tildone-hatch)"}, "blocked"),
        ({"class": "sunken"}, "no events for more than 10 min"),
    )
    found: list[str] = []
    for index, (look, words) in enumerate(kinds):
        x = PADDING + index * 160
        box: Box = {"x": x, "y": y, "width": 24, "height": BAR_HEIGHT}
        found += [element("rect", box | look), label(x + 32, y + 10, "text2 small", words)]
    found.append(_break_sign(PADDING + (len(kinds) - 1) * 160 + 12, y + 6))
    return "\n".join(found), y + 36
