"""Conversion warnings, in short and in full."""

import pytest

from tildone.plan.formats import ConversionWarning, WarningCollector


@pytest.mark.parametrize(
    ("numbers", "short", "full"),
    [
        ((), "x", "x"),
        ((7,), "line 7: x", "line 7: x"),
        ((1, 2), "lines 1 and 2: x", "lines 1 and 2: x"),
        ((1, 2, 5), "lines 1, 2 and 5: x", "lines 1, 2 and 5: x"),
        ((1, 2, 5, 9, 11), "lines 1, 2, 5 and 2 more: x", "lines 1, 2, 5, 9 and 11: x"),
    ],
)
def test_a_warning_lists_its_lines(numbers: tuple[int, ...], short: str, full: str) -> None:
    """The short form lists only the first few."""
    assert (str(ConversionWarning("x", numbers)), ConversionWarning("x", numbers).text()) == (short, full)


def test_equal_warnings_become_one() -> None:
    """In the order of their first occurrence; each line is listed once."""
    warnings = WarningCollector("task")
    for number in (3, 3, 4):
        warnings.add("a", number)
    warnings.add("b")
    warnings.add("a", 9)

    assert warnings.all() == (ConversionWarning("a", (3, 4, 9), "task"), ConversionWarning("b", (), "task"))
