"""Phase titles with Roman numerals."""

import pytest

from tildone.plan.text.phases import phase_title, roman_numeral


@pytest.mark.parametrize(
    ("number", "written"),
    [(0, ""), (-3, ""), (1, "I"), (4, "IV"), (8, "VIII"), (49, "XLIX"), (944, "CMXLIV"), (3999, "MMMCMXCIX")],
)
def test_numbers_are_written_as_roman_numerals(number: int, written: str) -> None:
    assert roman_numeral(number) == written


def test_roman_numerals_are_unique() -> None:
    assert len({roman_numeral(number) for number in range(1, 4000)}) == 3999


def test_a_title_is_one_line() -> None:
    assert phase_title(2, "Auth\nII. Forged") == "II. Auth⏎II. Forged"
