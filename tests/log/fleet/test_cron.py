"""When schedules are due."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.base.errors import UsageError
from tildone.log.cron import next_time, parse_cron

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str, zone: ZoneInfo | None = None) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=zone or UTC).timestamp()) * 1000


@pytest.mark.parametrize(
    ("cron", "after", "due"),
    [
        ("0 3 * * *", "2026-11-16 02:59", "2026-11-16 03:00"),
        ("0 3 * * *", "2026-11-16 03:00", "2026-11-17 03:00"),
        ("*/15 * * * *", "2026-11-16 03:01", "2026-11-16 03:15"),
        ("30 8-18/5 * * mon-fri", "2026-11-13 18:30", "2026-11-16 08:30"),
        ("0 0 1 jan,jul *", "2026-11-16 00:00", "2027-01-01 00:00"),
        ("0 0 29 2 *", "2026-11-16 00:00", "2028-02-29 00:00"),
        ("0 0 * * 7", "2026-11-16 00:00", "2026-11-22 00:00"),
        ("0 0 13 * 5", "2026-11-16 00:00", "2026-11-20 00:00"),
        ("0 0 */2 * 5", "2026-11-16 00:00", "2026-11-27 00:00"),
        ("5/20 * * * *", "2026-11-16 00:00", "2026-11-16 00:05"),
    ],
)
def test_the_next_time(cron: str, after: str, due: str) -> None:
    assert next_time(parse_cron(cron), at(after)) == at(due)


@pytest.mark.parametrize(
    ("after", "due"),
    [
        ("2026-03-28 12:00", "2026-03-29 03:30"),  # 02:30 is left out
        ("2026-10-24 12:00", "2026-10-25 02:30"),  # 02:30 comes twice
        ("2026-10-25 02:30", "2026-10-26 02:30"),
    ],
)
def test_a_time_is_due_once_when_clocks_change(after: str, due: str) -> None:
    assert next_time(parse_cron("30 2 * * *"), at(after, BERLIN), BERLIN) == at(due, BERLIN)


@given(st.integers(0, 59), st.integers(0, 23), st.integers(0, 4 * 10**12))
def test_the_next_time_is_within_a_day(minute: int, hour: int, after: int) -> None:
    due = next_time(parse_cron(f"{minute} {hour} * * *"), after)

    assert 0 < due - after <= 24 * 3_600_000
    assert datetime.fromtimestamp(due / 1000, UTC).strftime("%H:%M") == f"{hour:02}:{minute:02}"


@pytest.mark.parametrize(
    "text",
    [
        *("", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "5-1 * * * *"),
        *("a * * * *", "*/0 * * * *", "1,,2 * * * *", "- * * * *", "1- * * * *", "٣ * * * *", "99999999999 * * * *"),
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_cron(text)


def test_a_time_that_never_comes_is_refused() -> None:
    with pytest.raises(UsageError, match="no time that ever comes"):
        next_time(parse_cron("0 0 30 2 *"), 0)
