"""Statistics of a plan's history: computed, as JSON data, for a terminal and as an SVG picture."""

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.history.histories import MINUTE, history
from tests.history.pictures import (
    PAGE,
    START,
    SVG,
    TEXT,
    Recorder,
    drawn_svg,
    drawn_text,
    stats_of_a_day,
    time_of_day,
    when,
)
from tests.plans import BLOCKED, COMPLETED, IN_PROGRESS, PENDING, plan_of, plans
from tests.views.test_charts import HOSTILE
from tildone.base import replace
from tildone.plan.events import (
    Actor,
    Author,
    Bound,
    Directive,
    DirectiveSet,
    Event,
    Labelled,
    Nudged,
    PlanChanged,
    PlanFact,
    Tripped,
)
from tildone.plan.history import stats
from tildone.plan.history.stats import NO_STATS, MarkKind, Period, Stats, session_stats, stats_data
from tildone.plan.history.stats_lines import MIN_COLUMNS, stats_lines
from tildone.plan.history.stats_svg import BEGINNING, stats_svg
from tildone.plan.history.usage import TokenUse
from tildone.plan.model import Phase, Plan, Status, Task, flat, progress
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import display_width, plain

facts = st.one_of(
    st.builds(PlanChanged, plans, drift=st.integers(0, 2)),
    st.builds(Nudged, st.integers(1, 3), st.integers(1, 3), of_subagent=st.booleans()),
    st.builds(Tripped, st.sampled_from(Bound), st.integers(1, 20)),
    st.builds(Labelled, st.just("e0"), st.sampled_from(["", "v1"])),
    st.builds(DirectiveSet, st.sampled_from(Directive)),
)


def events_of(rows: list[tuple[PlanFact, int, Actor]]) -> list[Event]:
    parents = [None, *(f"e{number}" for number in range(len(rows)))]
    return [Event(f"e{n}", parents[n], at, actor, fact) for n, (fact, at, actor) in enumerate(rows)]


histories = st.lists(st.tuples(facts, st.integers(0, 10**8), st.sampled_from(Actor)), max_size=12).map(events_of)
"""Events of every kind, with clocks that go back and forth."""


def stats_of(events: list[Event], now: int = 0, labels: dict[str, str] | None = None) -> Stats:
    found = session_stats(events, now, labels or {})
    assert found is not None
    return found


@given(histories, st.integers(0, 10**8))
def test_the_burn_down_ends_at_the_number_of_open_tasks(events: list[Event], now: int) -> None:
    found = session_stats(events, now, {})
    changed = [event.fact.plan for event in events if isinstance(event.fact, PlanChanged)]
    counts = progress(changed[-1] if changed else Plan())

    assert (found is None) == (not any(plan.tasks for plan in changed))
    if found is not None:
        assert found.open_steps[-1][1] == found.open == counts.total - counts.closed
        assert all(one[0] < other[0] for one, other in pairwise(found.open_steps))


@given(histories, st.integers(0, 10**8))
def test_the_periods_of_a_task_do_not_overlap(events: list[Event], now: int) -> None:
    found = session_stats(events, now, {"e0": "v1"})

    for entry in found.tasks if found else ():
        assert all(one.end <= other.start for one, other in pairwise(entry.periods))
        assert all(each.start <= each.end <= found.times[-1] for each in entry.periods if found)


@given(histories)
def test_every_task_that_ever_was_is_counted_once(events: list[Event]) -> None:
    found = session_stats(events, 0, {})
    plan = next((each.fact.plan for each in reversed(events) if isinstance(each.fact, PlanChanged)), Plan())
    current = [entry.task.text for entry in found.tasks if not entry.is_removed] if found else []

    assert current == [task.text for task in plan.tasks]


def test_added_tasks_go_up_and_closed_tasks_go_down() -> None:
    """Of several changes in one moment, the last counts."""
    events = history(plan_of("a"), plan_of("a", "b"), flat(Task("a", COMPLETED), Task("b")), plan_of("b"))

    assert stats_of(events).open_steps == ((0, 1), (MINUTE, 2), (2 * MINUTE, 1))

    events = [replace(event, at=5) for event in history(plan_of("a"), plan_of("a", "b"))]

    assert stats_of(events).open_steps == ((5, 2),)


def test_a_task_has_a_period_for_each_time_it_was_in_progress_or_blocked() -> None:
    """One in progress counts until now, a removed one until then; one that was only blocked was not worked on."""
    statuses = (PENDING, IN_PROGRESS, BLOCKED, IN_PROGRESS, IN_PROGRESS, COMPLETED)
    [entry] = stats_of(history(*(flat(Task("a", status)) for status in statuses))).tasks

    assert entry.periods == (
        Period(1 * MINUTE, 2 * MINUTE, IN_PROGRESS),
        Period(2 * MINUTE, 3 * MINUTE, BLOCKED),
        Period(3 * MINUTE, 5 * MINUTE, IN_PROGRESS),
    )
    assert (entry.worked, entry.total(BLOCKED)) == (3 * MINUTE, MINUTE)

    [entry] = stats_of(history(flat(Task("a", IN_PROGRESS))), 9 * MINUTE).tasks

    assert entry.worked == 9 * MINUTE

    todo, waiting = stats_of(history(flat(Task("a"), Task("b", BLOCKED))), MINUTE).tasks

    assert (todo.worked, waiting.worked, waiting.total(BLOCKED)) == (None, None, MINUTE)

    _, entry = stats_of(history(flat(Task("a", IN_PROGRESS), Task("b")), plan_of("b")), 9 * MINUTE).tasks

    assert (entry.task.text, entry.is_removed, entry.worked) == ("a", True, MINUTE)
    assert [entry.task.number for entry in stats_of(history(flat(Task("a"), Task("b")))).tasks] == [1, 2]


def test_a_clock_that_was_set_back_stands_still() -> None:
    events = history(plan_of("a"), flat(Task("a", IN_PROGRESS)), flat(Task("a", COMPLETED)))
    events[2] = replace(events[2], at=0)

    found = stats_of(events)

    assert found.times == (0, MINUTE, MINUTE, MINUTE)
    assert found.tasks[0].worked == 0


def test_marks_tell_who_did_what() -> None:
    recorder = Recorder(0)
    recorder.record(PlanChanged(recorder.plan()), actor=Actor.USER)
    recorder.record(PlanChanged(recorder.plan()), 1)
    recorder.record(Nudged(1, 1), 1, Actor.TIMER)
    recorder.record(Nudged(1, 1, of_subagent=True), 1, Actor.TIMER)
    recorder.record(Tripped(Bound.SAME, 3), 1, Actor.TIMER)
    recorder.record(Labelled("e1", "v1"), 1, Actor.USER)
    recorder.record(DirectiveSet(Directive.PAUSE), 1, Actor.USER)

    marks = stats_of(recorder.events, 0, {"e1": "v1"}).marks

    assert [(mark.at // MINUTE, mark.kind, mark.label) for mark in marks] == [
        (0, MarkKind.PERSON, ""),
        (1, MarkKind.CHANGE, ""),
        (1, MarkKind.LABEL, "v1"),
        (2, MarkKind.NUDGE, ""),
        (3, MarkKind.NUDGE, ""),
        (4, MarkKind.LET_GO, ""),
    ]


def closing(minutes: list[float], status: Status = PENDING) -> list[Event]:
    """Close five of eight tasks, each after so many minutes; the others have a status."""
    recorder = Recorder(0)
    recorder.statuses = [status] * 8
    recorder.record(PlanChanged(recorder.plan()))
    for task, each in enumerate(minutes):
        recorder.mark(task, COMPLETED, each)
    return recorder.events


def test_the_estimate_is_that_of_the_pace() -> None:
    """A long time in which nobody worked does not slow it. If a task was in progress, somebody worked."""
    assert stats_of(closing([5] * 5)).estimate.remaining == 15 * MINUTE
    assert stats_of(closing([5, 5, 605, 5, 5])).estimate.remaining == 12 * MINUTE
    assert stats_of(closing([5, 5, 605, 5, 5], IN_PROGRESS)).estimate.remaining == 375 * MINUTE


def test_nudges_without_progress_prevent_an_estimate() -> None:
    """Nudges of subagents do not. A change that is no progress does not end the count."""
    events = closing([5] * 5)
    last = events[-1]
    for drift in (1, 2):
        events.append(Event(f"n{drift}", None, last.at, Actor.TIMER, Nudged(drift, drift)))
    of_subagents = [replace(each, fact=replace(each.fact, of_subagent=True)) for each in events[-2:]]

    assert stats_of(events).estimate.reason == "no estimate: told to go on 2 times without progress"
    assert stats_of([*events[:-2], *of_subagents]).estimate.remaining == 15 * MINUTE
    assert (
        "without progress"
        in stats_of([*events[:-1], Event("t", None, 0, Actor.TIMER, Tripped(Bound.SAME, 1))]).estimate.reason
    )

    recorder = Recorder(0)
    recorder.record(PlanChanged(recorder.plan()))
    for task in range(5):
        recorder.mark(task, COMPLETED, 1)
    recorder.record(Nudged(1, 1))
    recorder.record(PlanChanged(recorder.plan(), drift=1), 1)
    recorder.record(Nudged(1, 2))

    assert stats_of(recorder.events).estimate.reason == "no estimate: told to go on 2 times without progress"


def test_tokens_belong_to_the_one_task_that_was_in_progress() -> None:
    """The answer that ends a period belongs to it; the one that begins it does not."""
    both = flat(Task("a", IN_PROGRESS), Task("b", IN_PROGRESS))
    events = history(plan_of("a", "b"), flat(Task("a", IN_PROGRESS), Task("b")), both, plan_of("a", "b"))
    requests = [TokenUse(int(minutes * MINUTE), tokens) for minutes, tokens in ((1, 1), (1.5, 20), (2, 300), (2.5, 4))]

    found = session_stats(events, 0, {}, requests)

    assert found is not None
    assert [entry.tokens for entry in found.tasks] == [320, None]
    assert found.tokens == 325

    found = stats_of(history(flat(Task("a", IN_PROGRESS))), MINUTE)

    assert (found.tokens, found.tasks[0].tokens) == (None, None)


def test_a_plan_without_tasks_has_no_statistics_and_an_empty_one_counts_nothing() -> None:
    """It has the same keys."""
    assert session_stats([], 0, {}) is None
    assert session_stats(history(Plan()), 0, {}) is None
    assert list(NO_STATS) == list(data_of(history(plan_of("a"))))
    assert NO_STATS["estimate"] == {"remaining_ms": None, "reason": "the plan is empty"}
    assert NO_STATS["closed"] == NO_STATS["total"] == 0
    assert all(NO_STATS[key] is None for key in ("from", "to", "tokens", "cost"))
    assert all(NO_STATS[key] == [] for key in ("open", "tasks", "nudges", "let_goes", "changes_by_people", "labels"))


@pytest.mark.parametrize(("count", "has_course"), [(2, False), (3, True)])
def test_a_curve_needs_three_events(count: int, has_course: bool) -> None:  # noqa: FBT001  a parameter
    assert stats_of(history(*[plan_of("a")] * count)).has_course is has_course


def test_the_pictures_of_a_fixed_history_are_those_of_the_documentation() -> None:
    """To draw them again after a change: python -m tests.history.pictures."""
    assert f"```text\n{drawn_text(80)}```\n" in PAGE.read_text(encoding="utf-8")
    assert drawn_svg() == SVG.read_text(encoding="utf-8")

    found = stats_of_a_day()

    assert (found.progress.closed, found.progress.total) == (5, 8)
    assert len(found.of_kind(MarkKind.NUDGE)) == 2


def data_of(events: list[Event], labels: dict[str, str] | None = None) -> dict[str, object]:
    found = session_stats(events, 0, labels or {})
    assert found is not None
    return stats_data(found, when)


def test_each_task_has_its_times() -> None:
    plans = (flat(Task("a", status)) for status in (IN_PROGRESS, BLOCKED, COMPLETED))

    assert data_of(history(*plans))["tasks"] == [
        {
            "number": 1,
            "text": "a",
            "status": "completed",
            "phase": "",
            "removed": False,
            "in_progress_ms": MINUTE,
            "blocked_ms": MINUTE,
            "tokens": None,
            "cost": None,
            "nudges": 0,
            "periods": [
                {"from": "1970-01-01 00:00", "to": "1970-01-01 00:01", "status": "in_progress"},
                {"from": "1970-01-01 00:01", "to": "1970-01-01 00:02", "status": "blocked"},
            ],
        }
    ]


def test_the_open_tasks_over_time_and_an_estimate_as_data() -> None:
    data = data_of(history(plan_of("a"), plan_of("a", "b")))

    assert data["open"] == [{"at": "1970-01-01 00:00", "count": 1}, {"at": "1970-01-01 00:01", "count": 2}]
    assert (data["from"], data["to"], data["closed"], data["total"]) == ("1970-01-01 00:00", "1970-01-01 00:01", 0, 2)

    recorder = Recorder(START)
    recorder.record(PlanChanged(recorder.plan()))
    for task in range(5):
        recorder.mark(task, COMPLETED, 1)

    assert data_of(recorder.events)["estimate"] == {"remaining_ms": 3 * MINUTE, "reason": None}


def test_marks_have_what_is_known_of_them() -> None:
    recorder = Recorder(START)
    recorder.record(PlanChanged(recorder.plan()), actor=Actor.USER)
    recorder.record(Nudged(2, 3), 0, Actor.TIMER)
    recorder.record(Tripped(Bound.DRIFT, 7), 0, Actor.TIMER)
    nobody = {"name": None, "agent": None, "model": None}
    of_timer = {"at": when(START), "actor": "timer", "author": nobody}
    first = {"id": "e0", "at": when(START), "actor": "user", "author": nobody}

    data = data_of(recorder.events, {"e0": "v1", "e1": "told"})

    assert data["nudges"] == [{"id": "e1", **of_timer, "count": 2, "of_subagent": False}]
    assert data["let_goes"] == [{"id": "e2", **of_timer, "bound": "drift", "limit": 7}]
    assert data["changes_by_people"] == [first]
    assert data["labels"] == [{**first, "label": "v1"}, {"id": "e1", **of_timer, "label": "told"}]
    assert data["estimate"] == {"remaining_ms": None, "reason": "no estimate: fewer than 5 tasks were closed"}


def drawn(*plans: Plan, now: int = 0, columns: int | None = None, title: str = "demo") -> list[str]:
    found = session_stats(history(*plans), now, {})
    assert found is not None
    return [plain(line) for line in stats_lines(title, found, when, columns)]


@pytest.mark.parametrize("columns", TEXT)
def test_the_picture_of_a_fixed_history(columns: int) -> None:
    """To draw it again after a change: python -m tests.history.pictures."""
    assert drawn_text(columns) == TEXT[columns].read_text(encoding="utf-8")


@given(histories, st.integers(0, 10**8), st.integers(1, 130), st.text(max_size=60))
def test_every_line_fits_the_terminal(events: list[Event], now: int, columns: int, title: str) -> None:
    requests = [TokenUse(event.at, 10_000) for event in sorted(events, key=lambda event: event.at)]
    found = session_stats(events, now, {"e0": "v1"}, requests)
    lines = [plain(line) for line in stats_lines(title, found, when, columns)] if found else []

    assert [line for line in lines if display_width(line) > max(columns, MIN_COLUMNS)] == []
    assert [line for line in lines if printable(line) != line] == []


def test_hostile_texts_are_shown_harmless_and_cut() -> None:
    nasty = "\x1b[2J\u202e<system-reminder>\n" * 5_000
    lines = drawn(flat(Task(nasty, IN_PROGRESS), Task("漢" * 100_000, IN_PROGRESS)), now=MINUTE, title=nasty)

    assert max(map(display_width, lines)) <= 80
    assert all(line.isprintable() and "<system" not in line for line in lines)


def test_the_last_column_is_the_number_of_open_tasks_now() -> None:
    lines = drawn(plan_of("a"), plan_of("a", "b"), flat(Task("a", COMPLETED), Task("b", COMPLETED)))

    assert [len(line) for line in lines if "│" in line] == [len("2 │") + 59] * 4 + [len("2 │") + 59] * 4


def test_less_than_three_events_have_no_curve() -> None:
    lines = drawn(plan_of("a"))

    assert lines[2:4] == ["Events", "  └" + "─" * 60]
    assert not any("█" in line for line in lines)
    assert "Open tasks" not in texts_in(root_of(svg_of(history(plan_of("a")))))


def test_what_there_is_not_to_draw_is_said() -> None:
    assert "Time in progress" not in drawn(plan_of("a"))
    assert "1 task was never started." in drawn(plan_of("a"))
    assert drawn(plan_of("a"))[0] == "demo: 0 of 1 task closed"
    assert "All tasks are closed." in drawn(flat(Task("a", COMPLETED)))
    assert "The plan is empty." in drawn(plan_of("a"), Plan())

    lines = drawn(flat(Task("a", Status.BLOCKED), Task("b", IN_PROGRESS)), now=MINUTE)

    assert "! #1 a   –" in [line.rstrip() for line in lines]


def test_of_many_tasks_those_that_took_longest_are_shown() -> None:
    """In the order of the plan."""
    plans = [
        flat(*(Task(f"t{n}", IN_PROGRESS if n >= 60 - i else Status.PENDING) for n in range(61))) for i in range(50)
    ]
    lines = drawn(*plans, now=60 * MINUTE)
    shown = [line.split()[2] for line in lines if line.startswith("●") and "#" in line]

    assert shown == [f"t{n}" for n in range(21, 61)]
    assert "21 more tasks are not shown; 11 of them were never started." in lines


def test_breaks_are_marked_on_the_axis_with_their_length() -> None:
    text = drawn_text(80)

    assert "─╱╱─" in text
    assert "╱╱ no events: 6 h" in text
    assert stats_of_a_day().times[0] < stats_of_a_day().times[-1]

    root = root_of(drawn_svg())

    assert "6 h" in texts_in(root)
    assert "no events for 6 h" in titles_in(root)


def test_the_ends_of_a_long_axis_are_on_two_lines_if_they_do_not_fit() -> None:
    found = session_stats(history(plan_of("a"), plan_of("a", "b")), 0, {})
    assert found is not None
    lines = [plain(line) for line in stats_lines("demo", found, lambda at: f"{at:020d}", 40)]

    assert f"   {0:020d}" in lines
    assert f"   {MINUTE:>037d}"[-20:] == lines[lines.index(f"   {0:020d}") + 1][-20:]


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


def test_a_picture_is_for_those_who_hear_it_too_and_has_no_scripts_links_or_handlers() -> None:
    root = root_of(drawn_svg())
    named = root.attrib["aria-labelledby"].split()
    first, second = root[:2]

    assert root.attrib["role"] == "img"
    assert [first.attrib["id"], second.attrib["id"]] == named
    assert first.text == "grammar-parser: 5 of 8 tasks closed"
    assert "6 open tasks at first, 3 at the end." in (second.text or "")
    assert "Write the tokenizer: 12m · 24k tok" in (second.text or "")

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
    """Dropped and removed tasks are struck; one that was only blocked says so."""
    root = root_of(drawn_svg())
    groups = root.findall(f"{NAMESPACE}g")
    lanes = {titles_in(group)[0]: [each.get("class") for each in group.iter(f"{NAMESPACE}rect")] for group in groups}

    assert lanes["Write the parser"] == ["ok-soft ok-line"]
    assert lanes["Wire up the command line"] == ["warn-line", "accent"]
    assert "in progress, 16:28 – 16:37" in titles_in(groups[-1])
    assert "2 tasks were never started." in texts_in(root)

    events = history(
        flat(Task("a", IN_PROGRESS), Task("b", IN_PROGRESS)),
        flat(Task("a", Status.ABANDONED)),
        flat(Task("a", PENDING)),
    )
    root = root_of(svg_of(events))
    looks = {each.text: each.get("class") for each in root.iter(f"{NAMESPACE}text")}

    assert (looks["– a"], looks["● b"]) == ("text", "text3 struck")
    assert "blocked" in texts_in(root_of(svg_of(history(flat(Task("a", Status.BLOCKED))), MINUTE)))[3:]


def test_a_large_history_is_drawn_in_part() -> None:
    """Periods within a pixel are one; breaks that are too narrow are not drawn."""
    statuses = [IN_PROGRESS, PENDING] * 2_000
    events = [
        Event(f"e{n}", None, n * 100, Actor.AGENT, PlanChanged(flat(Task("a", each))))
        for n, each in enumerate(statuses)
    ]

    assert len(svg_of(events)) < 30_000

    events = [Event(f"e{n}", None, n * 20 * MINUTE, Actor.AGENT, PlanChanged(plan_of("a"))) for n in range(1_000)]
    few = svg_of(events[:30])

    assert len(svg_of(events)) < 20_000
    assert "no events for 20 min" in titles_in(root_of(few))
    assert "20 min" not in texts_in(root_of(few))

    root = root_of(svg_of(history(flat(*(Task(f"t{n}", IN_PROGRESS) for n in range(400)))), MINUTE))

    assert len(root.findall(f"{NAMESPACE}g")) == 150
    assert "250 more tasks are not shown; 0 of them were never started." in texts_in(root)


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
    """Without busy times, it takes its room."""
    assert "stroke-dasharray" in drawn_svg()
    assert "about 24m left" in texts_in(root_of(drawn_svg()))
    assert "stroke-dasharray" not in svg_of(history(plan_of("a"), plan_of("a"), plan_of("a")))

    recorder = Recorder(0)
    recorder.statuses = [IN_PROGRESS] * 8
    recorder.record(PlanChanged(recorder.plan()))
    for task in range(5):
        recorder.mark(task, COMPLETED, 60)

    path = next(each for each in root_of(svg_of(recorder.events)).iter() if each.get("stroke-dasharray"))
    assert path.get("d") == "M712.0 431.5L808.0 484.0"


def test_as_many_of_the_newest_events_are_read_as_take_little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each event costs one, and each task in its plan another."""
    events = [*history(*[plan_of("a", "b")] * 9)]
    nudge = Event("n", None, 0, Actor.TIMER, Nudged(1, 1))
    monkeypatch.setattr(stats, "MAX_TASKS_READ", 6)

    assert list(stats.readable(reversed(events))) == events[:-4:-1]
    assert list(stats.readable([nudge] * 5)) == [nudge] * 5
