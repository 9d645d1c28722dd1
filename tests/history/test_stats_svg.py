"""The statistics of a plan as an SVG picture."""

import re
from xml.etree import ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.history.histories import MINUTE, history
from tests.history.pictures import SVG, Recorder, drawn_svg, time_of_day, when
from tests.history.test_stats import histories
from tests.plans import COMPLETED, IN_PROGRESS, PENDING, plan_of
from tests.views.test_svg import HOSTILE
from tildone.base import replace
from tildone.plan.events import Actor, Author, Bound, Event, Labelled, Nudged, PlanChanged, Tripped
from tildone.plan.history.requests import TokenUse
from tildone.plan.history.stats import session_stats
from tildone.plan.history.stats_svg import BEGINNING, stats_svg
from tildone.plan.model import Phase, Plan, Status, Task, flat

NAMESPACE = "{http://www.w3.org/2000/svg}"
TAGS = {"svg", "title", "desc", "style", "defs", "pattern", "clipPath", "rect", "path", "line", "text", "g"}


def root_of(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314  our own picture


def svg_of(events: list[Event], now: int = 0, labels: dict[str, str] | None = None, title: str = "demo") -> str:
    found = session_stats(events, now, labels or {})
    assert found is not None
    return stats_svg(title, found, when, time_of_day)


def texts_in(root: ET.Element) -> list[str]:
    return [each.text or "" for each in root.iter(f"{NAMESPACE}text")]


def titles_in(root: ET.Element) -> list[str]:
    return [each.text or "" for each in root.iter(f"{NAMESPACE}title")]


def test_the_picture_of_a_fixed_history() -> None:
    """To draw it again after a change: python -m tests.history.pictures."""
    assert drawn_svg() == SVG.read_text(encoding="utf-8")


def test_a_picture_has_a_title_and_a_description_for_those_who_hear_it() -> None:
    root = root_of(drawn_svg())
    named = root.attrib["aria-labelledby"].split()
    first, second = root[:2]

    assert root.attrib["role"] == "img"
    assert [first.attrib["id"], second.attrib["id"]] == named
    assert first.text == "grammar-parser: 5 of 8 tasks closed"
    assert "6 open tasks at first, 3 at the end." in (second.text or "")
    assert "Write the tokenizer: 12m · 24k tok" in (second.text or "")


def test_a_picture_has_no_scripts_links_or_handlers() -> None:
    root = root_of(drawn_svg())

    assert {each.tag.removeprefix(NAMESPACE) for each in root.iter()} == TAGS
    names = {name for each in root.iter() for name in each.attrib}
    assert not any(name.startswith("on") or "href" in name for name in names)
    assert drawn_svg().startswith(BEGINNING)


def test_hostile_texts_are_texts() -> None:
    """Wherever they are: in tasks, phases, labels, names and titles."""
    for text in HOSTILE:
        plan = Plan((Phase(text, (Task(text, IN_PROGRESS), Task("b", Status.ABANDONED))),))
        events = [replace(event, author=Author(text, text)) for event in history(plan, plan_of(text), plan)]
        picture = svg_of(events, 3 * MINUTE, {"a": text}, text)

        assert {each.tag.removeprefix(NAMESPACE) for each in root_of(picture).iter()} <= TAGS
        assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069\u200b\ufffe\uffff]", picture)
        assert len(picture) < 20_000


@settings(max_examples=50)
@given(histories, st.integers(0, 10**8), st.text(max_size=20))
def test_every_history_can_be_drawn(events: list[Event], now: int, title: str) -> None:
    """Everything in the picture is inside of it."""
    found = session_stats(events, now, {"e0": "v1"}, [TokenUse(5, 1)])
    if found is None:
        return
    root = root_of(stats_svg(title, found, when, time_of_day))

    for each in root.iter(f"{NAMESPACE}rect"):
        assert 0 <= float(each.get("x", "0")) + float(each.get("width", "0")) <= 960
        assert float(each.get("y", "0")) + float(each.get("height", "0")) <= float(root.attrib["height"])


def test_each_task_has_a_lane_with_its_periods() -> None:
    root = root_of(drawn_svg())
    groups = root.findall(f"{NAMESPACE}g")
    lanes = {titles_in(group)[0]: [each.get("class") for each in group.iter(f"{NAMESPACE}rect")] for group in groups}

    assert lanes["Write the parser"] == ["ok-soft ok-line"]
    assert lanes["Wire up the command line"] == ["warn-line", "accent"]
    assert "in progress, 16:28 – 16:37" in titles_in(groups[-1])
    assert "2 tasks were never started." in texts_in(root)


def test_dropped_and_removed_tasks_are_struck() -> None:
    events = history(
        flat(Task("a", IN_PROGRESS), Task("b", IN_PROGRESS)),
        flat(Task("a", Status.ABANDONED)),
        flat(Task("a", PENDING)),
    )
    root = root_of(svg_of(events))
    looks = {each.text: each.get("class") for each in root.iter(f"{NAMESPACE}text")}

    assert (looks["– a"], looks["● b"]) == ("text", "text3 struck")


def test_a_task_that_was_only_blocked_says_so() -> None:
    assert "blocked" in texts_in(root_of(svg_of(history(flat(Task("a", Status.BLOCKED))), MINUTE)))[3:]


def test_periods_within_a_pixel_are_one() -> None:
    statuses = [IN_PROGRESS, PENDING] * 2_000
    events = [
        Event(f"e{n}", None, n * 100, Actor.AGENT, PlanChanged(flat(Task("a", each))))
        for n, each in enumerate(statuses)
    ]

    assert len(svg_of(events)) < 30_000


def test_a_break_has_its_length() -> None:
    root = root_of(drawn_svg())

    assert "6 h" in texts_in(root)
    assert "no events for 6 h" in titles_in(root)


def test_breaks_that_are_too_narrow_are_not_drawn() -> None:
    events = [Event(f"e{n}", None, n * 20 * MINUTE, Actor.AGENT, PlanChanged(plan_of("a"))) for n in range(1_000)]
    few = svg_of(events[:30])

    assert len(svg_of(events)) < 20_000
    assert "no events for 20 min" in titles_in(root_of(few))
    assert "20 min" not in texts_in(root_of(few))


def test_ticks_that_would_touch_are_left_out() -> None:
    """Ten seconds of work every half hour: eight times at the full minute, then after it."""
    starts = [n * 30 * MINUTE + (0 if n < 8 else 20_000) for n in range(20)]
    times = [at for start in starts for at in (start, start + 10_000)]
    events = [Event(f"e{n}", None, at, Actor.AGENT, PlanChanged(plan_of("a"))) for n, at in enumerate(times)]
    ticks = [text for text in texts_in(root_of(svg_of(events))) if ":" in text and len(text) == 5]

    assert ticks == ["00:00", "01:00", "02:00", "03:00"]


def test_marks_have_words_and_near_ones_are_counted() -> None:
    recorder = Recorder(0)
    recorder.record(PlanChanged(recorder.plan()))
    for _ in range(3):
        recorder.record(Nudged(1, 1), 0.001, Actor.TIMER)
    recorder.record(Nudged(1, 1), 5, Actor.TIMER)
    recorder.record(Nudged(1, 1), 0.1, Actor.TIMER)
    recorder.record(Nudged(1, 1), 0.2, Actor.TIMER)
    recorder.record(Tripped(Bound.NUDGES, 20), 4, Actor.TIMER)
    recorder.record(Labelled("e0", "v1"), 0, Actor.USER)
    root = root_of(svg_of(recorder.events, 0, {"e0": "v1"}))
    titles = titles_in(root)

    assert "told to go on: 3, 1970-01-01 00:00" in titles
    assert "told to go on, 1970-01-01 00:05" in titles
    assert "let go: told to go on 20 times, and nothing changed, 1970-01-01 00:09" in titles
    assert "label v1, 1970-01-01 00:00" in titles
    assert "changed by agent, 1970-01-01 00:00" in titles
    assert texts_in(root).count("3") == 1
    assert "told to go on: 6" in texts_in(root)


def test_the_estimate_is_a_dashed_line() -> None:
    assert "stroke-dasharray" in drawn_svg()
    assert "about 24m left" in texts_in(root_of(drawn_svg()))
    assert "stroke-dasharray" not in svg_of(history(plan_of("a"), plan_of("a"), plan_of("a")))


def test_an_estimate_without_busy_times_takes_its_room() -> None:
    recorder = Recorder(0)
    recorder.statuses = [IN_PROGRESS] * 8
    recorder.record(PlanChanged(recorder.plan()))
    for task in range(5):
        recorder.mark(task, COMPLETED, 60)

    path = next(each for each in root_of(svg_of(recorder.events)).iter() if each.get("stroke-dasharray"))
    assert path.get("d") == "M712.0 431.5L808.0 484.0"


def test_less_than_three_events_have_no_curve() -> None:
    assert "Open tasks" not in texts_in(root_of(svg_of(history(plan_of("a")))))


def test_at_most_150_lanes_are_drawn() -> None:
    root = root_of(svg_of(history(flat(*(Task(f"t{n}", IN_PROGRESS) for n in range(400)))), MINUTE))

    assert len(root.findall(f"{NAMESPACE}g")) == 150
    assert "250 more tasks are not shown; 0 of them were never started." in texts_in(root)
