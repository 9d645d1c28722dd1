"""Amounts for people: each form with the values at which it changes."""

import pytest

from tildone.plan.events import Bound
from tildone.plan.text.amounts import (
    DAY,
    HOUR,
    MINUTE,
    about,
    ago,
    days,
    dollars,
    duration,
    elapsed,
    short_age,
    size,
    stopwatch,
    token_count,
    usage_text,
)
from tildone.plan.text.bounds import describe_bound


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "<1s"),
        (999, "<1s"),
        (1000, "1s"),
        (59_999, "59s"),
        (60_000, "1m"),
        (12 * 60_000 + 59_999, "12m"),
        (3_599_999, "59m"),
        (3_600_000, "1h"),
        (2 * 3_600_000 + 5 * 60_000, "2h 5m"),
        (86_399_999, "23h 59m"),
        (86_400_000, "1d"),
        (3 * 86_400_000 + 4 * 3_600_000, "3d 4h"),
        (400 * 86_400_000, "400d"),
    ],
)
def test_an_elapsed_time_has_at_most_two_units(milliseconds: int, text: str) -> None:
    assert elapsed(milliseconds) == text


def test_every_form_of_an_amount() -> None:
    times = (0, 41_000, 12 * MINUTE, 6 * HOUR, 3 * DAY)
    assert [about(each) for each in times] == ["0 s", "41 s", "12 min", "6 h", "3 d"]
    assert [short_age(each) for each in (-1, *times[1:])] == ["0s", "41s", "12m", "6h", "3d"]
    assert [duration(each) for each in (0.44, 12.9, 252, 7500)] == ["0.4 s", "12 s", "4 min 12 s", "2 h 5 min"]
    assert [stopwatch(each) for each in (0, 38.9, 61, 3600)] == ["0:00", "0:38", "1:01", "60:00"]
    assert [days(each) for each in (-1, DAY - 1, DAY, 1000 * DAY)] == ["today", "today", "1 day", "1,000 days"]
    assert [ago(each) for each in (-1, MINUTE, 2 * DAY)] == ["just now", "1 minute ago", "2 days ago"]
    assert [size(each) for each in (0, 999, 1500, 2_000_000)] == ["0 bytes", "999 bytes", "1.5 KB", "2.0 MB"]
    assert [token_count(each) for each in (0, 999, 1234, 184_900, 2_100_000)] == ["0", "999", "1.2k", "184k", "2.1M"]
    amounts = {0: "$0.00", 0.0042: "$0.0042", 0.034: "$0.03", 0.5: "$0.50", 1.919: "$1.92", 1234.5: "$1,234.50"}
    assert [dollars(each) for each in amounts] == list(amounts.values())


def test_a_short_text_has_what_is_known() -> None:
    assert usage_text(12 * 60_000, 84_200, 0.41) == "12 min · 84k · $0.41"
    assert usage_text(500, None, 0.0042) == "0 s · $0.0042"
    assert usage_text(tokens=950) == "950"
    assert usage_text(tokens=950, nudges=1) == "1 nudge · 950"
    assert usage_text(nudges=3) == "3 nudges"
    assert usage_text() == ""


def test_budgets_are_said_in_words() -> None:
    assert describe_bound(Bound.COST, 2.5) == "the agents of this plan have cost $2.50"
    assert describe_bound(Bound.TOKENS, 84_000) == "the agents of this plan have used 84k tokens"
    assert describe_bound(Bound.TASK_COST, 0.5) == "the task in progress has cost $0.50"
    assert describe_bound(Bound.TASK_TOKENS, 1_500_000) == "the task in progress has used 1.5M tokens"
    assert describe_bound(Bound.TASK_TIME, 30) == "the task in progress has taken 30 minutes"
