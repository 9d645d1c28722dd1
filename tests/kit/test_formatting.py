"""Human-readable sizes, counts and durations."""

import pytest

from tildone.plan.text.amounts import format_count, format_duration, format_size


@pytest.mark.parametrize(
    ("size", "read"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KB"),
        (1536, "1.5 KB"),
        (1_048_530, "1.0 MB"),
        (1024**2 - 1, "1.0 MB"),
        (2_411_725, "2.3 MB"),
        (5 * 1024**3, "5.0 GB"),
        (1024**4, "1.0 TB"),
        (3000 * 1024**5, "3000.0 PB"),
    ],
)
def test_a_size_is_in_the_largest_fitting_unit(size: int, read: str) -> None:
    """A value that would be rounded to 1024 is 1 of the next unit."""
    assert format_size(size) == read


@pytest.mark.parametrize(
    ("count", "noun", "plural", "read"),
    [
        (1234567, "", "", "1,234,567"),
        (0, "file", "", "0 files"),
        (1, "file", "", "1 file"),
        (1200, "file", "", "1,200 files"),
        (1, "entry", "entries", "1 entry"),
        (2, "entry", "entries", "2 entries"),
    ],
)
def test_a_count_agrees_with_its_noun(count: int, noun: str, plural: str, read: str) -> None:
    assert format_count(count, noun, plural) == read


@pytest.mark.parametrize(
    ("milliseconds", "read"),
    [
        (0, "0ms"),
        (999, "999ms"),
        (1000, "1.0s"),
        (3240, "3.2s"),
        (59_949, "59.9s"),
        (59_960, "1m 0s"),
        (75_000, "1m 15s"),
        (3_599_700, "1h 0m"),
        (7_500_000, "2h 5m"),
        (100_800_000, "1d 4h"),
    ],
)
def test_a_duration_has_its_two_largest_units(milliseconds: int, read: str) -> None:
    """No part is 60 of its unit."""
    assert format_duration(milliseconds) == read
