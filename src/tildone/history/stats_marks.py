"""The marks of a plan's history in an SVG picture: a row for each kind, with its name and number at the left."""

from __future__ import annotations

from tildone.history.authors import who
from tildone.history.stats import MarkKind
from tildone.history.stats_words import LEGEND
from tildone.log.events import Tripped
from tildone.typing import TYPE_CHECKING
from tildone.views.bounds import describe_bound
from tildone.views.svg import element, escaped, label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tildone.history.stats import Stats, TimeMark

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


def mark_rows(stats: Stats, x: Callable[[int], float], when: Callable[[int], str], y: int) -> tuple[str, int]:
    """Return the rows, and the place below them. `x` gives the place of a time, `when` formats it."""
    rows: list[str] = []
    for kind, meaning in LEGEND.items():
        if marks := stats.of_kind(kind):
            rows.append(_sign(kind, SIGN_LEFT, y))
            rows.append(label(NAME_LEFT, y + 4, "text2", f"{meaning}: {len(marks)}"))
            rows += _row(kind, _clusters(marks, x), when, y)
            y += ROW_HEIGHT
    return "\n".join(rows), y


def _row(
    kind: MarkKind, clusters: list[tuple[float, list[TimeMark]]], when: Callable[[int], str], y: int
) -> Iterable[str]:
    following = [place for place, _ in clusters[1:]]
    for (place, marks), upcoming in zip(clusters, [*following, float("inf")], strict=True):
        words = _words(marks[0]) if len(marks) == 1 else f"{LEGEND[kind]}: {len(marks)}"
        yield _sign(kind, place, y, f"{words}, {when(marks[0].at)}")
        if len(marks) > 1 and upcoming - place >= MIN_COUNT_ROOM:
            yield label(place + 9, y + 4, "text3 small", str(len(marks)))


def _clusters(marks: Iterable[TimeMark], x: Callable[[int], float]) -> list[tuple[float, list[TimeMark]]]:
    """Marks that are close together, with the place of the first of them."""
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
