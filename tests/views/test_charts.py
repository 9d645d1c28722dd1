"""Charts of characters, parts of SVG pictures that texts cannot change, and figures for Prometheus."""

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.telemetry.prometheus import parse
from tildone.plan.text.charts import (
    MAX_TICKS,
    MIN_BREAK_MS,
    Family,
    Kind,
    Sample,
    bar,
    column_chart,
    element,
    escaped,
    exposition,
    label,
    style,
    time_axis,
)

HOSTILE = (
    "<script>alert(1)</script>",
    "</text></svg><svg onload='alert(1)'>",
    "]]><![CDATA[",
    '" onclick="alert(1)',
    "&amp;&#x202e;&nbsp;",
    "\x1b[2J\x00\x08\r\n\t",
    "\u202eevil\u2066\u200b",
    "\ufffe\uffff\ud800",
    "x" * 100_000,
    "漢" * 100_000,
)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_is_more_than_a_text(text: str) -> None:
    root = ET.fromstring(element("g", {}, label(1, 2, "text", text)))  # noqa: S314  our own picture

    assert [child.tag for child in root.iter()] == ["g", "text"]
    assert root[0].attrib == {"x": "1", "y": "2", "class": "text"}
    assert not re.search("[\x00-\x1f\u202a-\u202e\u2066-\u2069\u200b\ufffe\uffff]", root[0].text or "")
    assert len(root[0].text or "") <= 200


def test_a_text_is_shown_as_it_is_or_cut_to_the_columns_it_has() -> None:
    """Numbers are exact to a tenth."""
    root = ET.fromstring(label(0, 0, "text", "if a < b && c > \"d\" 'e': ✓"))  # noqa: S314  our own picture

    assert root.text == "if a < b && c > \"d\" 'e': ✓"
    assert escaped("Write the parser", 9) == "Write th…"
    assert escaped("漢字漢字", 5) == "漢字…"
    assert element("rect", {"x": 1.26, "y": 2.0, "width": 1234.5}) == '<rect x="1.3" y="2" width="1234.5"/>'


@given(st.text())
def test_any_text_is_well_formed(text: str) -> None:
    ET.fromstring(label(0, 0, "text", text))  # noqa: S314  our own picture


def test_both_schemes_are_in_the_style_sheet_with_the_same_classes() -> None:
    light, dark = style().split("@media (prefers-color-scheme:dark)")

    assert "#FAF9F6" in light
    assert "#111213" in dark
    classes = r"\.([\w-]+)\{(?:fill|stroke):#"
    assert re.findall(classes, light) == re.findall(classes, dark) != []


MINUTE = 60_000


def test_places_are_linear_in_time_and_times_outside_are_at_the_edges() -> None:
    axis = time_axis([0, 5 * MINUTE, 10 * MINUTE], 100, 24)

    assert [axis.place(at) for at in (0, MINUTE, 5 * MINUTE, 10 * MINUTE)] == [0, 10, 50, 100]
    assert axis.breaks == ()

    axis = time_axis([MINUTE, 2 * MINUTE], 100, 24)

    assert (axis.place(0), axis.place(9 * MINUTE)) == (0, 100)
    assert time_axis([7], 100, 24).place(7) == 0


def test_a_time_without_events_of_more_than_ten_minutes_is_a_short_break() -> None:
    """Many breaks leave half of the axis to the work, if there is any."""
    night = 8 * 60 * MINUTE
    axis = time_axis([0, 5 * MINUTE, 5 * MINUTE + night, 10 * MINUTE + night], 124, 24)

    [quiet] = axis.breaks
    assert (quiet.left, quiet.right, quiet.end - quiet.start) == (50, 74, night)
    assert axis.place(5 * MINUTE + night // 2) == 62
    assert axis.place(10 * MINUTE + night) == 124
    assert time_axis([0, MIN_BREAK_MS], 100, 24).breaks == ()
    assert len(time_axis([0, MIN_BREAK_MS + 1], 100, 24).breaks) == 1

    times = [at for hour in range(100) for at in (hour * 60 * MINUTE, hour * 60 * MINUTE + MINUTE)]
    axis = time_axis(times, 100, 24)

    assert sum(part.right - part.left for part in axis.breaks) == pytest.approx(50)
    assert time_axis([0, 60 * MINUTE, 120 * MINUTE], 100, 24).place(60 * MINUTE) == 50


@pytest.mark.parametrize(
    ("minutes", "ticks"),
    [
        ([3, 7], [3, 4, 5, 6, 7]),
        ([0, 8], [0, 2, 4, 6, 8]),
        ([0.5, 9.5], [2, 4, 6, 8]),
        ([1, 9, 301, 309], [2, 4, 6, 8, 302, 304, 306, 308]),
        ([0.1, 0.2], []),
    ],
)
def test_ticks_are_at_round_times_outside_of_breaks(minutes: list[float], ticks: list[int]) -> None:
    axis = time_axis([int(each * MINUTE) for each in minutes], 500, 24)

    assert axis.ticks() == [each * MINUTE for each in ticks]


def test_a_time_too_long_for_any_step_has_no_ticks() -> None:
    """Nine busy days without a break."""
    assert time_axis(list(range(0, 10 * 1440 * MINUTE, 10 * MINUTE)), 500, 24).ticks() == []


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=40).map(sorted), st.sampled_from([1, 40, 480]))
def test_places_keep_the_order_of_times_and_stay_on_the_axis(times: list[int], width: int) -> None:
    axis = time_axis(times, width, 24)
    places = [axis.place(at) for at in times]

    assert all(one <= other + 1e-6 for one, other in pairwise(places))
    assert all(-1e-6 <= place <= width + 1e-6 for place in places)
    assert len(axis.ticks()) <= MAX_TICKS
    assert all(one.right == other.left for one, other in pairwise(axis.parts))


def test_columns_are_exact_to_an_eighth_of_a_cell_and_small_values_visible() -> None:
    assert column_chart([0, 1, 8, 9, 16], 2) == ["   ▁█", " ▁███"]
    assert column_chart([1, 10_000], 1) == ["▁█"]
    assert column_chart([0, 0], 2) == ["  ", "  "]
    assert column_chart([], 2) == ["", ""]


@pytest.mark.parametrize(
    ("amount", "largest", "text"), [(0, 8, ""), (8, 8, "████"), (4, 8, "██"), (1, 32, "▏"), (1, 999, "▏"), (0, 0, "")]
)
def test_a_bar_is_as_long_as_its_share(amount: int, largest: int, text: str) -> None:
    assert bar(amount, largest, 4) == text


@given(st.lists(st.integers(0, 10**6), max_size=60), st.integers(1, 8))
def test_a_chart_has_the_size_that_was_asked_for(values: list[int], rows: int) -> None:
    chart = column_chart(values, rows)

    assert [len(line) for line in chart] == [len(values)] * rows
    assert all((line[index] == " ") == (not values[index]) for line in chart[-1:] for index in range(len(values)))


def test_figures_are_written_with_their_help_type_and_labels() -> None:
    labels = (("agent", 'a "b" \\ c\nd'), ("model", "ünï"))
    families = [
        Family("tildone_cost_usd_total", Kind.COUNTER, "Cost.", (Sample(0.25, labels), Sample(1e-05))),
        Family("tildone_runs", Kind.GAUGE, "Runs.", (Sample(3), Sample(2.0, (("state", "queued"),)))),
    ]

    text = exposition(families)

    assert text == (
        "# HELP tildone_cost_usd_total Cost.\n"
        "# TYPE tildone_cost_usd_total counter\n"
        'tildone_cost_usd_total{agent="a \\"b\\" \\\\ c\\nd",model="ünï"} 0.25\n'
        "tildone_cost_usd_total 1e-05\n"
        "# HELP tildone_runs Runs.\n"
        "# TYPE tildone_runs gauge\n"
        "tildone_runs 3\n"
        'tildone_runs{state="queued"} 2\n'
    )
    found = parse(text)
    assert found["tildone_cost_usd_total"].kind == "counter"
    assert found["tildone_cost_usd_total"].samples[labels] == 0.25
    assert found["tildone_runs"].samples == {(): 3, (("state", "queued"),): 2}
