"""The statistics of a plan as pictures for a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.history.histories import MINUTE, history
from tests.history.pictures import PAGE, TEXT, drawn_text, stats_of_a_day, when
from tests.history.test_stats import histories
from tests.plans import COMPLETED, IN_PROGRESS, plan_of
from tildone.plan.events import Event
from tildone.plan.history.requests import TokenUse
from tildone.plan.history.stats import session_stats
from tildone.plan.history.stats_lines import MIN_COLUMNS, stats_lines
from tildone.plan.model import Plan, Status, Task, flat
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import display_width, plain


def drawn(*plans: Plan, now: int = 0, columns: int | None = None, title: str = "demo") -> list[str]:
    found = session_stats(history(*plans), now, {})
    assert found is not None
    return [plain(line) for line in stats_lines(title, found, when, columns)]


@pytest.mark.parametrize("columns", TEXT)
def test_the_picture_of_a_fixed_history(columns: int) -> None:
    """To draw it again after a change: python -m tests.history.pictures."""
    assert drawn_text(columns) == TEXT[columns].read_text(encoding="utf-8")


def test_the_documentation_shows_this_picture() -> None:
    assert f"```text\n{drawn_text(80)}```\n" in PAGE.read_text(encoding="utf-8")


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


def test_a_plan_whose_tasks_were_never_started_has_no_bars() -> None:
    assert "Time in progress" not in drawn(plan_of("a"))
    assert "1 task was never started." in drawn(plan_of("a"))
    assert drawn(plan_of("a"))[0] == "demo: 0 of 1 task closed"


def test_a_plan_whose_tasks_are_all_closed_says_so() -> None:
    assert "All tasks are closed." in drawn(flat(Task("a", COMPLETED)))


def test_a_plan_that_is_empty_now_says_so() -> None:
    assert "The plan is empty." in drawn(plan_of("a"), Plan())


def test_of_many_tasks_those_that_took_longest_are_shown() -> None:
    """In the order of the plan."""
    plans = [
        flat(*(Task(f"t{n}", IN_PROGRESS if n >= 60 - i else Status.PENDING) for n in range(61))) for i in range(50)
    ]
    lines = drawn(*plans, now=60 * MINUTE)
    shown = [line.split()[2] for line in lines if line.startswith("●") and "#" in line]

    assert shown == [f"t{n}" for n in range(21, 61)]
    assert "21 more tasks are not shown; 11 of them were never started." in lines


def test_a_blocked_task_has_no_bar() -> None:
    lines = drawn(flat(Task("a", Status.BLOCKED), Task("b", IN_PROGRESS)), now=MINUTE)

    assert "! #1 a   –" in [line.rstrip() for line in lines]


def test_breaks_are_marked_on_the_axis() -> None:
    text = drawn_text(80)

    assert "─╱╱─" in text
    assert "╱╱ no events: 6 h" in text
    assert stats_of_a_day().times[0] < stats_of_a_day().times[-1]


def test_the_ends_of_a_long_axis_are_on_two_lines_if_they_do_not_fit() -> None:
    found = session_stats(history(plan_of("a"), plan_of("a", "b")), 0, {})
    assert found is not None
    lines = [plain(line) for line in stats_lines("demo", found, lambda at: f"{at:020d}", 40)]

    assert f"   {0:020d}" in lines
    assert f"   {MINUTE:>037d}"[-20:] == lines[lines.index(f"   {0:020d}") + 1][-20:]
